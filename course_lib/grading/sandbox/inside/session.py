"""The name space in which a learner's statements run: a notebook's, with display, get_ipython, In, Out, and what `from __future__` sets."""
import __future__

import ast
import inspect
import linecache
import types


class Nothing:
    """What comes of a call of IPython: empty, and nothing happens."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_, **__):
        return Nothing()

    def __len__(self) -> int:
        return 0

    def __getitem__(self, _):
        raise IndexError("nothing of IPython's is here")


class ZMQInteractiveShell(Nothing):
    """In the place of the shell of a notebook, by whose class some notebooks know where they are."""

    def __bool__(self) -> bool:
        return True


class Session:
    """A module in which statements run one by one."""

    def __init__(self):
        self.module = types.ModuleType("__main__")
        self.module.__dict__.update(In=[""], Out={}, display=lambda *_, **__: None, get_ipython=ZMQInteractiveShell)
        self.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.loop = None

    def run(self, source: str, name: str) -> None:
        """Run a statement; `name` is that of its file in a traceback."""
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        code = compile(source, name, "exec", self.flags, dont_inherit=True)
        for feature in __future__.all_feature_names:
            self.flags |= code.co_flags & getattr(__future__, feature).compiler_flag
        if code.co_flags & inspect.CO_COROUTINE:
            import asyncio

            self.loop = self.loop or asyncio.new_event_loop()
            self.loop.run_until_complete(types.FunctionType(code, self.module.__dict__)())
        else:
            exec(code, self.module.__dict__)
