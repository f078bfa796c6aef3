# Run by `--prove` in the interpreter that wrote an entry: compiles each source in memory, without
# executing it, and compares the code with the entry's. Works on Python 2.7 and 3.
#
# Each line of standard input has, in hexadecimal, the source's path and the entry's, then the
# optimisation level. Each line of the answer is `same`, `differs MESSAGE` or `unknown MESSAGE`,
# the message in hexadecimal.
import binascii
import marshal
import sys
import types

PARTS = (
    "co_name", "co_qualname", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags",
    "co_nlocals", "co_stacksize", "co_names", "co_varnames", "co_freevars", "co_cellvars",
    "co_firstlineno", "co_code", "co_exceptiontable", "co_linetable",
)
if sys.version_info < (3, 10):
    PARTS += ("co_lnotab",)


def key(value):
    """A constant with its type, so that 0, 0.0, -0.0 and False differ."""
    if isinstance(value, tuple):
        return (tuple, tuple(key(item) for item in value))
    if isinstance(value, frozenset):
        return (frozenset, frozenset(key(item) for item in value))
    if isinstance(value, slice):
        return (slice, key(value.start), key(value.stop), key(value.step))
    return (type(value), repr(value) if isinstance(value, (float, complex)) else value)


def line_of(old, new):
    """The first line of `new` whose instructions differ."""
    try:
        import dis
        line = new.co_firstlineno
        lines = dict(dis.findlinestarts(new))
        pairs = zip(dis.get_instructions(old), dis.get_instructions(new))
        for one, other in pairs:
            line = lines.get(other.offset) or line
            if one.opname != other.opname:
                return line
            if isinstance(other.argval, types.CodeType):
                continue
            if one.arg != other.arg or key(one.argval) != key(other.argval):
                return line
        return line
    except Exception:
        return new.co_firstlineno


def difference(old, new):
    """Where two code objects differ, file names apart; None if they do not."""
    for part in PARTS:
        if getattr(old, part, None) != getattr(new, part, None):
            return "line %d, in %s" % (line_of(old, new), new.co_name)
    if len(old.co_consts) != len(new.co_consts):
        return "line %d, in %s" % (line_of(old, new), new.co_name)
    for one, other in zip(old.co_consts, new.co_consts):
        if isinstance(one, types.CodeType) and isinstance(other, types.CodeType):
            found = difference(one, other)
            if found:
                return found
        elif key(one) != key(other):
            return "line %d, in %s" % (line_of(old, new), new.co_name)
    return None


def judge(source, entry, level):
    with open(source, "rb") as file:
        text = file.read()
    with open(entry, "rb") as file:
        body = file.read()
    header = 8 if sys.version_info < (3, 3) else 12 if sys.version_info < (3, 7) else 16
    old = marshal.loads(body[header:])
    if not isinstance(old, types.CodeType):
        return "unknown", "the entry holds no code"
    try:
        if sys.version_info < (3,):
            if level:
                return "unknown", "this interpreter compiles for -O only when it runs with it"
            new = compile(text, old.co_filename, "exec", 0, True)
        else:
            new = compile(text, old.co_filename, "exec", 0, True, level)
    except SyntaxError as error:
        return "differs", "line %s of the source does not compile: %s" % (error.lineno, error.msg)
    found = difference(old, new)
    return ("differs", found) if found else ("same", "")


def main():
    stdin = getattr(sys.stdin, "buffer", sys.stdin)
    for line in iter(stdin.readline, b""):
        source, entry, level = line.split()
        try:
            answer, message = judge(binascii.unhexlify(source), binascii.unhexlify(entry), int(level))
        except Exception as error:
            answer, message = "unknown", "%s: %s" % (type(error).__name__, error)
        if not isinstance(message, bytes):
            message = message.encode("utf-8", "replace")
        sys.stdout.write("%s %s\n" % (answer, binascii.hexlify(message).decode("ascii")))
        sys.stdout.flush()


main()
