"""Usage: python -m upstream [--port N] [--log FILE]"""

import argparse
import time

from .server import Upstream

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=8900)
parser.add_argument("--log")
options = parser.parse_args()
server = Upstream(options.port, options.log)
print(server.url, flush=True)
while True:
    time.sleep(3600)
