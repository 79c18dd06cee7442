"""Build the image, start the service in it as in production, and look at what it does.

Run: python deploy/try_image.py [--base debian]

It needs root, buildah and podman, and for `--base debian` mmdebstrap, which makes a Debian base out
of packages where no registry of images can be reached. The container has a read-only file system,
no capabilities and the user of the image. Images, containers and data are in one folder, which is
removed at the end unless `--folder` names it. Exit status 0 means that everything was as it should
be.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = "ca-certificates,python3,python3-venv"
IMAGE, BASE, CONTAINER = "localhost/equipoise:trial", "localhost/python:trial", "equipoise-trial"
#: Seconds for the service to be ready; after SIGTERM it may take grace_seconds, which is 20.
STARTING, GRACE = 300.0, 20.0
#: crun, which runs containers for podman, refuses to work beside this one.
HYBRID = Path("/sys/fs/cgroup/unified")
SEPARATE = "EQUIPOISE_TRIAL_SEPARATE"

#: Prints the user, what can be written, and processes that ended and were not reaped.
INSIDE = """
import json, os, pathlib, tempfile
def writable(folder):
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
states = []
for one in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        states.append((one / "stat").read_text().rpartition(")")[2].split()[0])
    except OSError:
        pass
print(json.dumps({
    "user": os.getuid(), "zombies": states.count("Z"), "processes": len(states),
    "writable": [f for f in ("/", "/opt/equipoise/kernels", "/data", "/tmp") if writable(f)],
}))
"""


class Trial:
    """One image, one container and one volume, in storage of their own."""

    def __init__(self, folder: Path, port: int, arguments: argparse.Namespace) -> None:
        self.folder, self.port, self.arguments = folder, port, arguments
        self._storage = ["--root", f"{folder}/storage", "--runroot", f"{folder}/run"]
        self._storage += ["--storage-driver", arguments.driver]

    def run(self, *command: str, quiet: bool = False) -> str:
        """Run a command to its end, and return what it printed on standard output."""
        said = subprocess.PIPE if quiet else None
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=said, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"status {done.returncode}: {shlex.join(command)}\n{done.stdout}")
        return done.stdout

    def buildah(self, *arguments: str) -> str:
        """Run buildah on the storage of the trial."""
        return self.run("buildah", *self._storage, *arguments)

    def podman(self, *arguments: str) -> str:
        """Run podman on the storage of the trial."""
        return self.run("podman", *self._storage, *arguments)

    def inside(self, *command: str) -> str:
        """Run a command in the running container, and return what it printed."""
        return self.podman("exec", CONTAINER, *command)

    def make_base(self) -> str:
        """Make a Debian base with Python out of packages; return its name."""
        archive = str(self.folder / "base.tar")
        self.run("mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", archive)
        container = self.buildah("from", "scratch").strip()
        self.buildah("add", "--quiet", container, archive, "/")
        self.buildah("commit", "--quiet", "--rm", container, BASE)
        return BASE

    def build(self, base: str | None) -> None:
        """Build the image."""
        options = ["--isolation", "chroot", "--format", "docker", "--layers", "--tag", IMAGE]
        if base:
            options += ["--build-arg", f"BASE={base}"]
        more = shlex.split(self.arguments.build_options)
        self.buildah("build", *options, *more, str(ROOT))

    def start(self) -> float:
        """Start a new container on the volume; return the seconds until it is ready."""
        options = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "all", "--network", "host"]
        options += ["--security-opt", "no-new-privileges", "--cgroups", "disabled"]
        # No unit of systemd that runs the health check; it is run below.
        options += ["--health-interval", "disable", "--volume", "equipoise-trial:/data"]
        # podman would raise these, which needs a capability.
        options += ["--ulimit", "nofile=1024:4096", "--ulimit", "nproc=1000:1000"]
        if self.arguments.database:
            options += ["--env", f"EQUIPOISE_DATABASE={self.arguments.database}"]
        command = ["serve", "--host", "127.0.0.1", "--port", str(self.port)]
        started = time.monotonic()
        self.podman("run", "--detach", "--name", CONTAINER, *options, IMAGE, *command)
        while self.ask("/readyz")[0] != 200:
            if time.monotonic() - started > STARTING:
                raise SystemExit(f"the service was not ready after {STARTING:g} s\n{self.log()}")
            time.sleep(0.1)
        return time.monotonic() - started

    def stop(self) -> tuple[float, int]:
        """Send SIGTERM; return the seconds until the service ended, and its exit status."""
        first = int(self.podman("inspect", "--format", "{{.State.Pid}}", CONTAINER))
        started = time.monotonic()
        os.kill(first, signal.SIGTERM)
        while Path(f"/proc/{first}").exists() and time.monotonic() - started < 2 * GRACE:
            time.sleep(0.05)
        seconds = time.monotonic() - started
        return seconds, int(self.podman("wait", CONTAINER))

    def remove(self) -> None:
        """Remove the container; its volume stays."""
        self.podman("rm", "--force", "--ignore", CONTAINER)

    def log(self) -> str:
        """Return the service log."""
        command = ["podman", *self._storage, "logs", CONTAINER]
        return subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        ).stdout

    def ask(
        self, path: str, key: str = "", method: str = "GET", body: Any = None
    ) -> tuple[int, Any]:
        """Return status and content of an answer; status 0 if nobody answers."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
                status = answer.status
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        except OSError:
            return 0, None
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text


def expect(holds: bool, what: str, got: object) -> None:
    """Print what was looked at, and end with status 1 if it is not as it should be."""
    print(f"{'ok' if holds else 'WRONG':5} {what}: {got}", flush=True)
    if not holds:
        raise SystemExit(1)


def look(trial: Trial) -> None:
    """Start the service twice on one volume, and look at what it does."""
    expect(True, "ready after", f"{trial.start():.1f} s")
    found = json.loads(trial.inside("python", "-c", INSIDE))
    expect(found["user"] == 10_001, "user", found["user"])
    expect(found["writable"] == ["/data", "/tmp"], "writable", found["writable"])
    expect(trial.ask("/healthz")[0] == 200, "/healthz", "200")
    if trial.port == 8000:
        trial.podman("healthcheck", "run", CONTAINER)
        expect(True, "health check of the image", "healthy")

    key = trial.inside(
        "equipoise", "db", "keys", "create", "--name", "trial", "--role", "admin"
    ).strip()
    systems = trial.arguments.systems.split(",")
    for system in systems:
        pool = f"/v1/pools/trial-{system}"
        started = time.monotonic()
        status, made = trial.ask(pool, key, "PUT", {"system": system})
        expect(status in (200, 201), f"pool of {system}", status)
        while made.get("kernels", "ready") == "compiling":  # looked for on disk, or missing there
            time.sleep(0.2)
            made = trial.ask(pool, key)[1]
        seconds = time.monotonic() - started
        expect(made.get("kernels", "ready") == "ready", "its kernels", f"after {seconds:.1f} s")
        started = time.monotonic()
        teams = [
            {"players": [{"player": player, "performance": 2.0 - rank}], "rank": rank}
            for rank, player in enumerate("ab")
        ]
        match = {"match": "1", "time": "2026-01-01T00:00:00Z", "teams": teams}
        status, _ = trial.ask(f"{pool}/matches", key, "POST", match)
        expect(
            status in (200, 201), "a match", f"{status} after {time.monotonic() - started:.2f} s"
        )
    boards = [trial.ask(f"/v1/pools/trial-{one}/leaderboard", key) for one in systems]
    expect(all(status == 200 for status, _ in boards), "leaderboards", len(boards))
    expect("kernels compiled" not in trial.log(), "compiled at run time", "nothing")

    seconds, status = trial.stop()
    expect(seconds < GRACE and status == 0, "SIGTERM", f"ended after {seconds:.1f} s, {status}")
    trial.remove()
    expect(True, "a new container is ready after", f"{trial.start():.1f} s")
    again = [trial.ask(f"/v1/pools/trial-{one}/leaderboard", key) for one in systems]
    expect(boards == again, "leaderboards as before", boards == again)
    verified = trial.inside("equipoise", "db", "verify").strip().splitlines()
    expect(True, "equipoise db verify", verified[0] if verified else "status 0")
    if not trial.arguments.database:
        trial.inside("mkdir", "/data/backups")
        path = trial.inside("equipoise", "db", "backup", "/data/backups", "--keep", "7").strip()
        expect(path.startswith("/data/backups/"), "equipoise db backup", path)
    seconds, status = trial.stop()
    expect(seconds < GRACE and status == 0, "SIGTERM", f"ended after {seconds:.1f} s, {status}")


def separate() -> None:
    """Begin again without the hybrid cgroup, which is unmounted for this process alone."""
    if HYBRID.is_dir() and SEPARATE not in os.environ:
        os.environ[SEPARATE] = "1"
        begin = f'umount {HYBRID} && exec "$@"'
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", begin, "sh"]
        os.execvp("unshare", [*command, sys.executable, *sys.argv])


def missing(base: str | None) -> list[str]:
    """Return what is not here of what this program needs."""
    programs = ["buildah", "podman", *(["mmdebstrap"] if base == "debian" else [])]
    found = [one for one in programs if shutil.which(one) is None]
    return found + ([] if os.geteuid() == 0 else ["root"])


def main() -> None:
    """Build, start and look."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", help="image to build on; debian: made here out of packages")
    parser.add_argument("--build-options", default="", help="further options of buildah build")
    parser.add_argument("--database", default="", help="URL of a PostgreSQL database")
    parser.add_argument("--driver", default="overlay", help="storage driver, such as vfs")
    parser.add_argument("--folder", type=Path, help="folder that is kept, with its layers")
    parser.add_argument("--no-build", action="store_true", help="try the image in --folder")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--systems", default="elo-mmr,glicko2,team-glicko2,trueskill,elo")
    arguments = parser.parse_args()
    if absent := missing(arguments.base):
        raise SystemExit(f"not here: {', '.join(absent)}")
    separate()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="equipoise-image-"))
    folder.mkdir(parents=True, exist_ok=True)
    trial = Trial(folder, arguments.port, arguments)
    try:
        base = arguments.base
        if base == "debian":
            there = arguments.folder and BASE in trial.podman(
                "images", "--format", "{{.Repository}}:{{.Tag}}"
            )
            base = BASE if there else trial.make_base()
        if not arguments.no_build:
            started = time.monotonic()
            trial.build(base)
            expect(True, "built in", f"{time.monotonic() - started:.0f} s")
        look(trial)
    finally:
        trial.remove()
        trial.podman("volume", "rm", "--force", "equipoise-trial")
        if not arguments.folder:
            trial.podman("system", "reset", "--force")
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
