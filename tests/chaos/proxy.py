#!/usr/bin/env python3
"""Proxies between gateways and their databases, which can be slow, hang or cut connections.

A process of its own: in the process of the load it would be slow by itself. `proxy.py NAME=PORT …` listens on a free port for each, prints
`NAME PORT` lines, and reads commands from its input: `MODE PATTERN [SECONDS]`, where PATTERN is the name of a proxy with `*` for any text.

- `open`: passes everything on.
- `slow`: passes everything on SECONDS later.
- `jitter`: passes everything on after a random time of at most SECONDS.
- `hang`: accepts connections and bytes, and passes nothing on.
- `cut`: closes every connection.
"""

import asyncio
import fnmatch
import random
import sys


class Proxy:
    def __init__(self, name, port):
        self.name, self.port = name, port
        self.mode, self.seconds = "open", 0
        self.changed = asyncio.Event()
        self.writers = set()

    def set(self, mode, seconds):
        self.mode, self.seconds = mode, seconds
        self.changed.set()
        self.changed = asyncio.Event()
        if mode == "cut":
            for writer in list(self.writers):
                writer.transport.abort()

    async def serve(self, reader, writer):
        if self.mode == "cut":
            return writer.transport.abort()
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return writer.transport.abort()
        both = (writer, server_writer)
        self.writers.update(both)
        copies = [asyncio.ensure_future(self.copy(reader, server_writer)), asyncio.ensure_future(self.copy(server_reader, writer))]
        try:
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for copy in copies:
                copy.cancel()
            self.writers.difference_update(both)
            for end in both:
                end.transport.abort()

    async def copy(self, reader, writer):
        try:
            while data := await reader.read(65_536):
                while self.mode == "hang":
                    await self.changed.wait()
                if self.mode == "slow":
                    await asyncio.sleep(self.seconds)
                elif self.mode == "jitter":
                    await asyncio.sleep(random.uniform(0, self.seconds))
                writer.write(data)
                await writer.drain()
        except OSError:
            pass


async def main():
    proxies = []
    for argument in sys.argv[1:]:
        name, _, port = argument.partition("=")
        proxy = Proxy(name, int(port))
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        print(name, server.sockets[0].getsockname()[1], flush=True)
        proxies.append(proxy)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := (await commands.readline()).decode().split():
        mode, pattern, seconds = (line + ["0"])[:3]
        for proxy in proxies:
            if fnmatch.fnmatch(proxy.name, pattern):
                proxy.set(mode, float(seconds))


asyncio.run(main())
