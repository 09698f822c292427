"""The evaluator of both peers: it does nothing but say that it ran."""

import json
import os
import re
import subprocess
import sys
import time


def log(what, reply):
    with open(os.environ["PEERS_LOG"], "a") as f:
        f.write(json.dumps({"at": time.time(), "what": what, "reply": reply}) + "\n")


def evaluate(program_path):
    text = open(program_path).read()
    reply = int(re.search(r"reply = (\d+)", text).group(1))
    log("begin", reply)
    if "hang" in text:
        # What go test does: the program under test is a process of its own.
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        child.wait()
    time.sleep(float(os.environ.get("PEERS_SLEEP", "0")))
    log("end", reply)
    return {"combined_score": (reply * 7919 % 1000) / 1000, "reply": reply}


if __name__ == "__main__":  # as ShinkaEvolve calls it
    args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    metrics = evaluate(args["--program_path"])
    os.makedirs(args["--results_dir"], exist_ok=True)
    with open(os.path.join(args["--results_dir"], "metrics.json"), "w") as f:
        json.dump({"combined_score": metrics["combined_score"], "public": {}, "private": {}}, f)
    with open(os.path.join(args["--results_dir"], "correct.json"), "w") as f:
        json.dump({"correct": True, "error": None}, f)
