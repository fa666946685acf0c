"""What the calls in a notebook change: a statement that changes a value is needed by whatever needs the value."""
import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

SHOWING = {"check", "hint", "solution", "print", "display", "assert_close", "help"}     # calls that only print
MUTATING = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "register", "remove", "reverse", "setdefault",
            "sort", "update"}           # methods that change their object, also where their result is used
SETTING = re.compile(r"set(?!.*thread)|.*seed$")          # functions of a module that change what others do
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass
class Effects:
    """What a statement may change by the calls in it."""

    objects: set[str] = field(default_factory=set)           # names of what they change, whatever it is but a module
    modules: set[str] = field(default_factory=set)           # modules whose settings they change
    values: set[str] = field(default_factory=set)            # names that they change unless these are functions or classes
    calls: list[tuple[str, set[str]]] = field(default_factory=list)      # functions that are called for their effect, the names among their arguments
    definition: type | None = None           # of a function or class: the kind of node

    def add_call(self, call: ast.Call, alone: bool) -> None:
        """Add what a call may change; `alone` if it is called only for its effect."""
        function, arguments = call.func, argument_names(call)
        if isinstance(function, ast.Name) and function.id in ("setattr", "delattr"):
            self.objects |= arguments_of(call.args[:1])
        elif isinstance(function, ast.Name):
            if alone and function.id not in SHOWING:
                self.calls.append((function.id, arguments))
        elif isinstance(function, ast.Attribute) and (name := root(function)):
            if alone or function.attr in MUTATING:
                self.objects.add(name)
            if alone:
                self.values |= arguments
            if alone and SETTING.match(function.attr):
                self.modules.add(name)
        elif isinstance(function, ast.Call) and alone:   # add_to_class(Own)(f)
            self.objects |= argument_names(function)
            self.add_call(function, alone)

    def add_decorator(self, decorator: ast.expr, decorated: str) -> None:
        """Add what a decorator may change: its arguments, the object whose method it is, what its function stores into."""
        if isinstance(decorator, ast.Call):
            self.objects |= argument_names(decorator)
            self.add_call(decorator, alone=True)
        elif isinstance(decorator, ast.Name):
            self.calls.append((decorator.id, {decorated}))
        elif name := root(decorator):
            self.objects.add(name)


def find_effects(statements: Sequence[ast.stmt]) -> Effects:
    """What a statement may change, given as the list of it and of those in its blocks."""
    effects = Effects()
    for node in statements:
        if isinstance(node, DEFINITIONS):
            effects.definition = type(node)
            for decorator in node.decorator_list:
                effects.add_decorator(decorator, node.name)
        alone = node.value if isinstance(node, ast.Expr) else None
        alone = alone.value if isinstance(alone, ast.Await) else alone
        for call in expressions(node):
            if isinstance(call, ast.Call):
                effects.add_call(call, alone=call is alone)
    return effects


def expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of the statement itself, without those in its blocks and those that run later."""
    todo = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    while todo:
        expression = todo.pop()
        yield expression
        if not isinstance(expression, ast.Lambda):
            todo += [child for child in ast.iter_child_nodes(expression) if not isinstance(child, ast.stmt)]


def argument_names(call: ast.Call) -> set[str]:
    """The names of what a call is given."""
    return arguments_of([*call.args, *(keyword.value for keyword in call.keywords)])


def arguments_of(arguments: Iterable[ast.expr]) -> set[str]:
    """The names that these arguments are, or are parts of."""
    return {name for argument in arguments if (name := root(argument.value if isinstance(argument, ast.Starred) else argument))}


def root(node: ast.expr) -> str | None:
    """The name that an attribute or an element belongs to: "net" for net.layers[0].weight."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def bind_effects(parsed: Sequence[tuple]) -> list:
    """The statements with an effect, which bind what they change too: a function may change its arguments and the values that it reads."""
    reads: dict[str, set[str]] = {}                      # of the functions and classes
    classes, values, modules = set(), set(), set()
    for statement, effects in parsed:
        if effects.definition:
            classes |= statement.binds if effects.definition is ast.ClassDef else set()
            for name in statement.binds:
                reads.setdefault(name, set()).update(statement.now | statement.later)
        elif statement.imports:
            modules |= statement.binds
        else:
            values |= statement.binds
    values -= reads.keys()

    @cache
    def names_reached(function: str) -> set[str]:
        seen, todo = {function}, [function]
        while todo:
            new = reads.get(todo.pop(), set()) - seen
            todo += new
            seen |= new
        return seen

    statements = []
    for statement, effects in parsed:
        changed = effects.objects & (values | reads.keys()) | effects.values & values | effects.modules & modules
        for function, arguments in effects.calls:
            changed |= (arguments & (values | classes) | names_reached(function) & values) if function in reads else (arguments | {function}) & values
        if changed:
            statement = replace(statement, binds=statement.binds | changed, now=statement.now | changed - statement.binds)
        statements += [statement] if statement.binds or statement.effect else []
    return statements
