#!/usr/bin/env python3
"""sem.py WORKLOAD: the workloads of the semaphore with asyncio's; prints the figure."""
import asyncio
import sys
import time

PAIRS = 300_000
HANDOVERS = 200_000
QUEUE = 1_000


async def enter_and_leave(sem, count):
    for _ in range(count):
        async with sem:
            pass


async def pair():
    sem = asyncio.Semaphore(1)
    start = time.perf_counter_ns()
    await enter_and_leave(sem, PAIRS)
    return (time.perf_counter_ns() - start) / PAIRS


async def handover():
    sem = asyncio.Semaphore(1)
    await sem.acquire()
    tasks = [asyncio.create_task(enter_and_leave(sem, HANDOVERS // QUEUE)) for _ in range(QUEUE)]
    await asyncio.sleep(0)
    start = time.perf_counter_ns()
    sem.release()
    await asyncio.gather(*tasks)
    return (time.perf_counter_ns() - start) / HANDOVERS


print(asyncio.run({"pair": pair, "handover": handover}[sys.argv[1]]()))
