"""What CPython makes of texts: the judge of our reading.

Standard input is a JSON list of [form, text], form being "e" (expression), "s" (shape) or "t" (type). Standard output
is a JSON list of the same length: the tree as an s-expression with byte offsets where the text is in the language,
"outside: why" where Python reads it and the language leaves it out, "refused: why" where Python does not read it.
"""

import ast
import io
import json
import re
import struct
import sys
import tokenize
import warnings

warnings.simplefilter("error")

ATTRIBUTES = {"shape", "dtype", "ndim", "size", "device", "itemsize", "nbytes", "T", "mT", "is_cuda", "requires_grad"}
METHODS = {
    "size", "dim", "ndimension", "numel", "nelement", "prod", "sum", "max", "min", "element_size", "is_contiguous",
    "stride", "is_floating_point", "is_complex",
}
BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
COMPARE = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in",
}


class Outside(Exception):
    pass


class Text:
    def __init__(self, text):
        self.text = text
        self.bytes = text.encode()
        self.tokens = []
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.NL):
                continue
            start = len(text[: token.start[1]].encode())
            end = len(text[: token.end[1]].encode())
            self.tokens.append((token.type, token.string, start, end))
        for (kind, string, _, _), after in zip(self.tokens, self.tokens[1:] + [(None, "", 0, 0)]):
            if kind == tokenize.COMMENT:
                raise Outside("comment")
            if kind == tokenize.STRING:
                if string[0] not in "'\"" or string[:3] in ("'''", '"""'):
                    raise Outside("string")
                if after[0] == tokenize.STRING:
                    raise Outside("concatenation")
                if any(escape not in "\\'\"abfnrtvxuU01234567" for escape in re.findall(r"\\(.)", string)):
                    raise Outside("escape")
            if kind == tokenize.NAME and not string.isascii():
                raise Outside("name")

    def closes(self, start):
        """The end of the bracket that opens at `start`."""
        depth = 0
        for _, string, at, end in self.tokens:
            if at < start:
                continue
            if string in "([{" and string:
                depth += 1
            elif string in ")]}" and string:
                depth -= 1
                if depth == 0:
                    return end
        return None

    def colons(self, start, end):
        """The colons between `start` and `end` in no bracket inside it."""
        depth = count = 0
        for _, string, at, _ in self.tokens:
            if start <= at < end:
                depth += string in ("(", "[", "{")
                depth -= string in (")", "]", "}")
                count += string == ":" and depth == 1
        return count


def place(node):
    return f"{node.col_offset} {node.end_col_offset}"


def dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return base and f"{base}.{node.attr}"
    return None


def constant(node):
    value = node.value
    if value is None:
        return f"(none {place(node)})"
    if isinstance(value, bool):
        return f"(bool {value} {place(node)})"
    if isinstance(value, int):
        if value >= 1 << 127:
            raise Outside("large")
        return f"(int {value} {place(node)})"
    if isinstance(value, float):
        if value == float("inf"):
            raise Outside("infinite")
        return f"(float {struct.pack('>d', value).hex()} {place(node)})"
    if isinstance(value, str):
        try:
            return f"(str {value.encode().hex()}. {place(node)})"
        except UnicodeEncodeError:
            raise Outside("surrogate")
    raise Outside(type(value).__name__)


def dump(node, text):
    go = lambda child: dump(child, text)
    if isinstance(node, ast.Constant):
        return constant(node)
    if isinstance(node, ast.Name):
        if node.id == "inf":
            return f"(float {struct.pack('>d', float('inf')).hex()} {place(node)})"
        return f"(name {node.id} {place(node)})"
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub):
            return f"(- {go(node.operand)} {place(node)})"
        if isinstance(node.op, ast.Not):
            return f"(not {go(node.operand)} {place(node)})"
        raise Outside("unary")
    if isinstance(node, ast.BinOp):
        if type(node.op) not in BINARY:
            raise Outside("binary")
        return f"({BINARY[type(node.op)]} {go(node.left)} {go(node.right)} {place(node)})"
    if isinstance(node, ast.BoolOp):
        op = "and" if isinstance(node.op, ast.And) else "or"
        return f"({op} {' '.join(map(go, node.values))} {place(node)})"
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        parts = [go(node.left)]
        for left, op, right in zip(operands, node.ops, operands[1:]):
            if type(op) not in COMPARE:
                raise Outside("comparison")
            none = any(isinstance(side, ast.Constant) and side.value is None for side in (left, right))
            if none and isinstance(op, (ast.Eq, ast.NotEq)):
                raise Outside("None")
            parts += [COMPARE[type(op)], go(right)]
        return f"(compare {' '.join(parts)} {place(node)})"
    if isinstance(node, ast.IfExp):
        return f"(if {go(node.body)} {go(node.test)} {go(node.orelse)} {place(node)})"
    if isinstance(node, ast.Tuple):
        if text.closes(node.col_offset) != node.end_col_offset or text.bytes[node.col_offset] != ord("("):
            raise Outside("bare tuple")
        return f"(tuple {' '.join(map(go, node.elts))} {place(node)})"
    if isinstance(node, ast.Attribute):
        if node.attr in ATTRIBUTES:
            raise Outside("attribute")
        return f"(. {go(node.value)} {node.attr} {place(node)})"
    if isinstance(node, ast.Subscript):
        index = node.slice
        base = go(node.value)
        if isinstance(index, ast.Slice):
            # The bracket that closes last opens the subscript.
            opens = [at for _, string, at, _ in text.tokens if string == "[" and text.closes(at) == node.end_col_offset]
            if index.step is not None or text.colons(opens[0], node.end_col_offset) != 1:
                raise Outside("step")
            lower = go(index.lower) if index.lower else "()"
            upper = go(index.upper) if index.upper else "()"
            return f"(slice {base} {lower} {upper} {place(node)})"
        return f"(index {base} {go(index)} {place(node)})"
    if isinstance(node, ast.Call):
        callee = dotted(node.func)
        # A parenthesised callee starts behind the call.
        if not callee or node.func.col_offset != node.col_offset or callee in ("isinstance", "range", "inf"):
            raise Outside("call")
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            raise Outside("method")
        if callee.startswith("inf.") or ATTRIBUTES & set(callee.split(".")[1:-1]):
            raise Outside("callee")
        parts = [callee, place(node.func)]
        if any(isinstance(arg, ast.GeneratorExp) for arg in node.args):
            if len(node.args) != 1 or node.keywords or callee not in ("all", "sum", "max", "min"):
                raise Outside("comprehension")
            [comprehension] = node.args
            if comprehension.end_col_offset != node.end_col_offset:
                raise Outside("comprehension in brackets")
            if len(comprehension.generators) != 1:
                raise Outside("for")
            [clause] = comprehension.generators
            if clause.ifs or clause.is_async or not isinstance(clause.target, ast.Name) or clause.target.id == "inf":
                raise Outside("if")
            if text.bytes[: clause.target.col_offset].rstrip().endswith(b"("):
                raise Outside("target in brackets")
            element, iterable = go(comprehension.elt), go(clause.iter)
            target = f"{clause.target.id} {place(clause.target)}"
            return f"(for {' '.join(parts)} {element} {target} {iterable} {place(node)})"
        parts += map(go, node.args)
        names = [keyword.arg for keyword in node.keywords]
        if None in names or len(set(names)) != len(names):
            raise Outside("keywords")
        for keyword in node.keywords:
            start = keyword.col_offset
            parts.append(f"{keyword.arg}= {start} {start + len(keyword.arg)} {go(keyword.value)}")
        return f"(call {' '.join(parts)} {place(node)})"
    raise Outside(type(node).__name__)


def shape(node, text):
    go = lambda child: dump(child, text)
    if isinstance(node, ast.List):
        if text.closes(node.col_offset) != node.end_col_offset:
            raise Outside("parentheses")
        axes = [f"* {go(axis.value)}" if isinstance(axis, ast.Starred) else go(axis) for axis in node.elts]
        return f"(axes {' '.join(axes)} {place(node)})"
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        if node.col_offset != 0 or text.bytes[:1] == b"(":
            raise Outside("parentheses")
        index = node.slice
        items = [index]
        if isinstance(index, ast.Tuple):
            try:
                go(index)
            except Outside as outside:
                if str(outside) == "bare tuple":
                    items = index.elts
        return f"(family {node.value.id} {' '.join(map(go, items))} {place(node)})"
    raise Outside("shape")


def members(node):
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*members(node.left), node.right]
    return [node]


def type_of(node, text):
    go = lambda child: type_of(child, text)
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, ast.BitOr):
            raise Outside("operator")
        return f"(| {' '.join(map(go, members(node)))} {place(node)})"
    if isinstance(node, (ast.Name, ast.Attribute)) and dotted(node):
        return f"(type {dotted(node)} {place(node)})"
    if isinstance(node, ast.Constant):
        if node.value is None:
            return f"(type None {place(node)})"
        if isinstance(node.value, str):
            return constant(node)
        raise Outside("literal")
    if isinstance(node, ast.Subscript) and dotted(node.value):
        index = node.slice
        items = index.elts if isinstance(index, ast.Tuple) else [index]
        arguments = ["..." if isinstance(i, ast.Constant) and i.value is ... else go(i) for i in items]
        if not arguments:
            raise Outside("empty")
        return f"(apply {dotted(node.value)} {' '.join(arguments)} {place(node)})"
    raise Outside("type")


def judge(form, text):
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, Warning, MemoryError, RecursionError) as error:
        return f"refused: {error}"
    try:
        view = Text(text)
        if form == "t" and any(string == "(" for _, string, _, _ in view.tokens):
            raise Outside("parentheses")
        return {"e": dump, "s": shape, "t": type_of}[form](tree, view)
    except Outside as outside:
        return f"outside: {outside}"


json.dump([judge(form, text) for form, text in json.load(sys.stdin)], sys.stdout)
