//! What a random session does: texts, edits and questions, and where positions lie in a text by a model so simple that it
//! is right by its looks. It knows nothing of the server: sessions in this process and sessions over pipes both play it.

use serde_json::{Value, json};

/// The unit of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Units {
    Utf8,
    Utf16,
    Utf32,
}

/// A place between characters; columns are in some [`Units`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) line: u32,
    pub(crate) character: u32,
}

impl At {
    pub(crate) fn json(self) -> Value {
        json!({"line": self.line, "character": self.character})
    }
}

/// Numbers that look random and are the same every time.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn of<'t, T: ?Sized>(&mut self, items: &[&'t T]) -> &'t T {
        items[self.below(items.len())]
    }
}

// ---- the model of a text

/// Where the lines of a text start and where they end without their breaks.
fn lines(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut lines = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        let width = match bytes[at] {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => 2,
            b'\r' | b'\n' => 1,
            _ => 0,
        };
        if width > 0 {
            lines.push((start, at));
            start = at + width;
        }
        at += width.max(1);
    }
    lines.push((start, text.len()));
    lines
}

fn width(character: char, units: Units) -> u32 {
    match units {
        Units::Utf8 => character.len_utf8() as u32,
        Units::Utf16 => character.len_utf16() as u32,
        Units::Utf32 => 1,
    }
}

pub(crate) fn offset(text: &str, position: At, units: Units) -> usize {
    let Some(&(start, end)) = lines(text).get(position.line as usize) else { return text.len() };
    let mut column = 0;
    for (at, character) in text[start..end].char_indices() {
        column += width(character, units);
        if column > position.character {
            return start + at;
        }
    }
    end
}

pub(crate) fn position(text: &str, offset: usize, units: Units) -> At {
    let lines = lines(text);
    let line = lines.partition_point(|(start, _)| *start <= offset) - 1;
    let (start, end) = lines[line];
    let columns = text[start..offset.min(end)].chars().map(|character| width(character, units)).sum();
    At { line: line as u32, character: columns }
}

// ---- the model of a session

pub(crate) const FILES: [&str; 5] = ["demo.yaml", "demo_b.yaml", "demo_c.yaml", "types.yaml", "notes.txt.yaml"];
const TYPES: &str = "adts:\n  A: {sum: {one: {}, two: {fields: {n: Dim}}}}\n";

fn entry(name: &str, numbers: &mut Numbers) -> String {
    let shape = numbers.of(&["[M]", "[Q]", "[M, 2*M]", "[😀]"]);
    let ty = numbers.of(&["int", "A", "Missing", "bool"]);
    let flops = numbers.of(&["M", "M +", "2 * M", "é"]);
    let stages = numbers.of(&["", "", "  composition: {kind: composite, stages: [{name: s, op: BFwdOp}]}\n"]);
    format!(
        "{name}:\n  family: demo\n  status: spec-only\n  signature:\n    forall: {{M: Dim}}\n    params: {{p: {{type: {ty}}}}}\n    \
         inputs: {{x: {{dtype: float32, shape: \"{shape}\"}}}}\n    outputs: {{y: {{dtype: float32, shape: \"[M]\"}}}}\n  \
         workloads:\n  - {{M: 4, p: 1, label: \"😀\"}} # tileops: ignore[unused-index]\n  roofline: {{flops: \"{flops}\"}}\n{stages}"
    )
}

pub(crate) fn text_of(file: &str, numbers: &mut Numbers) -> String {
    let mut text = match numbers.below(8) {
        0 => String::new(),
        1 => "a: 😀\r\nb: [\r".to_owned(),
        _ if file == "types.yaml" => TYPES.to_owned(),
        _ => {
            let names = ["AFwdOp", "BFwdOp", "CFwdOp", "DFwdOp"];
            (0..1 + numbers.below(2)).map(|_| entry(numbers.of(&names), numbers)).collect()
        }
    };
    match numbers.below(6) {
        0 => text = text.replace('\n', "\r\n"),
        1 => text = text.replace('\n', "\r"),
        _ => {}
    }
    text
}

// ---- what it does

/// A place in a text, or beside it.
pub(crate) fn any_position(numbers: &mut Numbers, text: &str, units: Units) -> At {
    let at = |line, character| At { line, character };
    match numbers.below(10) {
        0 => at(u32::MAX, numbers.below(9) as u32),
        1 => at(numbers.below(20) as u32, u32::MAX),
        2 | 3 => at(numbers.below(20) as u32, numbers.below(60) as u32),
        _ => position(text, text.floor_char_boundary(numbers.below(text.len() + 1)), units),
    }
}

/// Changes of a text, made in it and as the protocol has them.
pub(crate) fn edits(numbers: &mut Numbers, file: &str, text: &mut String, units: Units) -> Vec<Value> {
    let mut changes = Vec::new();
    for _ in 0..1 + numbers.below(3) {
        let piece = match numbers.below(12) {
            0 => text_of(file, numbers),
            _ => numbers
                .of(&["", "", "x", "M", "\n", "\r\n", "\r", "  ", "😀", "é", ": ", "\"", "[", "# c\n"])
                .to_owned(),
        };
        if numbers.one_in(14) {
            text.clone_from(&piece);
            changes.push(json!({"text": piece}));
            continue;
        }
        let start = any_position(numbers, text, units);
        let end = match numbers.below(4) {
            0 => start,
            1 => any_position(numbers, text, units),
            _ => At { line: start.line, character: start.character.saturating_add(numbers.below(6) as u32) },
        };
        let (a, b) = (offset(text, start, units), offset(text, end, units));
        text.replace_range(a.min(b)..a.max(b), &piece);
        changes.push(json!({"range": {"start": start.json(), "end": end.json()}, "text": piece}));
    }
    changes
}

/// A question about a document: its method and its parameters.
pub(crate) fn question(numbers: &mut Numbers, uri: &str, text: &str, units: Units) -> (&'static str, Value) {
    let (position, end) = (any_position(numbers, text, units).json(), any_position(numbers, text, units).json());
    let document = json!({"uri": uri});
    let mut at = json!({"textDocument": document, "position": position});
    let whole = json!({"textDocument": document});
    match numbers.below(12) {
        0 | 1 => ("textDocument/completion", at),
        2 => ("textDocument/hover", at),
        3 => ("textDocument/definition", at),
        4 => ("textDocument/prepareRename", at),
        5 => {
            at["newName"] = json!(numbers.of(&["Rows", "no name"]));
            ("textDocument/rename", at)
        }
        6 => ("textDocument/inlayHint", json!({"textDocument": document, "range": {"start": position, "end": end}})),
        7 => ("textDocument/documentSymbol", whole),
        8 => ("textDocument/semanticTokens/full", whole),
        9 => ("textDocument/diagnostic", whole),
        10 => ("workspace/diagnostic", json!({"previousResultIds": []})),
        _ => {
            at["context"] = json!({"includeDeclaration": true});
            ("textDocument/references", at)
        }
    }
}

/// Settings: levels of codes, and whether judgments that could not be made are shown.
pub(crate) fn settings(numbers: &mut Numbers) -> Value {
    let level = numbers.of(&["error", "advisory", "ignore"]);
    let code = numbers.of(&["unused-index", "unknown-name", "yaml-syntax"]);
    json!({"unreached": numbers.one_in(2), "codes": {code: level}})
}

/// The errors that an answer may be: what was cancelled, what is stale, what is refused, an odd name.
pub(crate) const ERRORS: [i64; 4] = [-32800, -32801, -32803, -32602];
