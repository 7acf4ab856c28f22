"""A scripted model behind four wire protocols. It checks every request that it receives.

It shares no code with AgentLoop on purpose: a mistake that a decoder and an encoder of ours make together is noticed here.
"""
