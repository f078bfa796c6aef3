"""Forks for each job: as fresh as an interpreter that has just been started, and much sooner there.

A line of standard input is a job: what to do, where, under which bytecode prefix, with which names.
The answer is a line of values.
"""
import os
import sys
import compileall
import py_compile

NOTHING = os.open(os.devnull, os.O_RDWR)


def value(name):
    try:
        __import__(name)
        module = sys.modules[name]
    except ImportError:
        return "absent"
    except Exception as error:
        return "error:" + type(error).__name__
    if getattr(module, "__file__", None) is None:
        return "namespace"
    return getattr(module, "V", "empty")


def compile_all(mode, force):
    options = {"force": force, "quiet": 2 if sys.version_info[0] > 2 else 1}
    if mode in ("timestamp", "checked", "unchecked") and sys.version_info >= (3, 7):
        modes = py_compile.PycInvalidationMode
        options["invalidation_mode"] = {
            "timestamp": modes.TIMESTAMP,
            "checked": modes.CHECKED_HASH,
            "unchecked": modes.UNCHECKED_HASH,
        }[mode]
    if mode == "legacy" and sys.version_info[0] > 2:
        options["legacy"] = True
    levels = [{}]
    if mode == "levels" and sys.version_info[0] > 2:
        levels = [{"optimize": level} for level in (0, 1, 2)]
    for level in levels:
        compileall.compile_dir(".", **dict(options, **level))


def overtake(content):
    """The next source to be compiled is written anew before its entry is."""
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
    write = loader.set_data

    def late(self, path, data, **options):
        loader.set_data = write
        source = self.path
        if os.path.isfile(source):
            before = os.stat(source)
            with open(source, "w") as file:
                file.write(content)
            os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
        write(self, path, data, **options)

    loader.set_data = late


def work(job, place, prefix, names):
    for stream in (0, 1, 2):
        os.dup2(NOTHING, stream)
    os.chdir(place)
    sys.path[:] = [place] + [path for path in sys.path if path]
    if prefix:
        sys.pycache_prefix = prefix
    if job == "compile":
        compile_all(names[0], names[1] == "force")
        return "done"
    sys.dont_write_bytecode = job == "look"
    if job == "overtaken":
        if sys.version_info < (3, 4):
            return "done"
        overtake(names.pop().replace("~", " ") + "\n")
    return " ".join([value(name) for name in names])


def serve():
    for line in iter(sys.stdin.readline, ""):
        job, place, prefix, names = line.rstrip("\n").split("\t")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                answer = work(job, place, prefix, names.split())
            except Exception as error:
                answer = "failed: %r" % (error,)
            os.write(writer, answer.encode("ascii", "replace"))
            os._exit(0)
        os.close(writer)
        answer = b""
        while True:
            part = os.read(reader, 65536)
            if not part:
                break
            answer += part
        os.close(reader)
        os.waitpid(child, 0)
        sys.stdout.write(answer.decode("ascii") + "\n")
        sys.stdout.flush()


serve()
