"""messages.py - the sentences that the library says when it refuses something, as they stand in ext/.

A sentence is the format of ctr_problem_set, ctr_problem_where, ctr_arg_error or zErrMsg, or a clause of the tables that say
what is wrong with a declaration, a cell, a context, a key, a journal or spread keys. Each %s, %d and the like is shown as an ellipsis."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMAT_AT = {"ctr_problem_set": 2, "ctr_problem_where": 1, "ctr_arg_error": 1, "sqlite3_result_error": 1}
TABLES = {"counter/table.c": r"SENTENCES\[\]", "core/cell.c": "ctr_status_text", "core/key.c": "ctr_key_status_text",
          "core/entries.c": "ctr_entries_status_text", "core/context.c": "ctr_context_text",
          "core/row_cell.c": "ctr_row_cell_status_text", "tracked/spread.c": "ctr_spread_lost"}
LITERAL = r'"(?:[^"\\]|\\.)*"'
PIECE = re.compile(rf"{LITERAL}|\bCTR_OS_ATTRIBUTE\b")


def without_comments(text):
    return re.sub(rf"({LITERAL})|/\*.*?\*/", lambda found: found[1] or " ", text, flags=re.S)


def arguments(text, at):
    """Of a call whose parenthesis opens before `at`."""
    found, depth, begin = [], 1, at
    while depth:
        literal = re.compile(LITERAL).match(text, at)
        if literal:
            at = literal.end()
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0 or (depth == 1 and text[at] == ","):
            found.append(text[begin:at].strip())
            begin = at + 1
        at += 1
    return found


def sentences_in(expression):
    """The literals of an expression: neighbours are one."""
    for run in re.findall(rf"(?:(?:{LITERAL}|\bCTR_OS_ATTRIBUTE\b)\s*)+", expression):
        yield "".join("user.sqlite-counter" if piece == "CTR_OS_ATTRIBUTE" else piece[1:-1] for piece in PIECE.findall(run))


def shown(sentence):
    """As the page shows it."""
    text = re.sub(r"%(?:\.\*|l+)?[sdcuQqw]", "…", sentence)
    return text.replace('\\"', '"').replace("\\n", " ").replace("%%", "%").replace("|", "\\|")


def of_file(name, text):
    for caller, position in FORMAT_AT.items():
        for call in re.finditer(rf"\b{caller}\s*\(", text):
            given = arguments(text, call.end())
            if len(given) > position:
                yield from sentences_in(given[position])
    for call in re.finditer(r"(?:zErrMsg|\*message) =\s*(?:sqlite3_|api->)mprintf\s*\(", text):
        yield from sentences_in(arguments(text, call.end())[0])
    if name in TABLES:
        body = re.search(rf"\b{TABLES[name]}[^;{{]*\{{(.*?)^\}}", text, re.M | re.S)
        yield from sentences_in(body[1])


def in_sources():
    """{sentence: files}, of those with a space in them: others only put names together."""
    found = {}
    for path in sorted((ROOT / "ext").rglob("*.c")):
        name = str(path.relative_to(ROOT / "ext"))
        for sentence in of_file(name, without_comments(path.read_text())):
            words = re.sub(r"%\S+", "", sentence)
            if re.search(r"[A-Za-z]{2,} [A-Za-z']+|[A-Za-z]{3,}", words) and " " in sentence.strip():
                found.setdefault(shown(sentence.strip()), set()).add(name)
    return found
