"""A Python program that allocates in many ways: program.py ROUNDS. What it prints depends on ROUNDS only."""
import hashlib
import json
import multiprocessing
import random
import re
import subprocess
import sys
import threading


def document(seed):
    choice = random.Random(seed)

    def value(depth):
        if depth == 0:
            return choice.choice([choice.random(), "text " * choice.randrange(30), None, choice.randrange(10**30)])
        return {f"key {i}": [value(depth - 1) for _ in range(choice.randrange(4))] for i in range(8)}

    return value(3)


def digest(seed):
    text = json.dumps(document(seed))
    words = re.findall(r"(?:key|text) ?\d*", re.sub(r"\d+\.\d+", lambda found: found[0][::-1], text))
    return hashlib.sha256(json.dumps([json.loads(text), sorted(words)]).encode()).hexdigest()


def in_threads(count):
    """Each thread hands its strings to the others; those free them."""
    shared, lock = [], threading.Lock()

    def work(seed):
        choice = random.Random(seed)
        for i in range(3000):
            text = str(i) * choice.randrange(1, 200)
            with lock:
                shared.append(text)
                other = shared.pop(choice.randrange(len(shared))) if len(shared) > 100 else None
            del other

    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(shared)


def main():
    rounds = int(sys.argv[1])
    for i in range(rounds):
        print("digest", digest(i))
        print("threads", in_threads(8))
        big = [bytes([j % 256]) * (j * 997 % 70000) for j in range(2000)]
        print("big", sum(map(len, big)))
        print("child", subprocess.run([sys.executable, "-c", f"print(sum(range({i} + 1000)))"], capture_output=True).stdout)
        with multiprocessing.get_context("fork").Pool(4) as pool:
            print("fork", pool.map(digest, range(i, i + 8)))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print("spawn", pool.map(digest, range(4)))


if __name__ == "__main__":
    main()
