//! Tokens to the spanned tree, by the grammar of PyYAML's parser, and what a manifest does not allow although YAML does:
//! anchors, merge keys, tags, duplicate keys, keys that are no strings, scalars that readers read differently.

use std::collections::HashMap;
use std::sync::Arc;

use super::scan::{RawScalar, Refusal, Scanner, Token, TokenKind, shorten};
use super::{MAX_DEPTH, Node, NodeKind, Pair, Scalar, ScalarStyle, ScalarValue, SourceMap, resolve};
use crate::defect::{Findings, codes};
use crate::text::{TextRange, TextSize};

/// How many nodes the aliases of one entry may copy, all together.
const ALIAS_BUDGET: usize = 100_000;

/// What a reading of an entry gave.
pub(super) struct Composed {
    /// The root; nothing where the text holds no node.
    pub(super) root: Option<Node>,
    pub(super) comments: Vec<TextRange>,
    pub(super) findings: Findings,
    /// Faults that did not stop the reading, each with the path of its place.
    pub(super) faults: Vec<(String, Refusal)>,
    /// What stopped the reading, and the path of the place where it did.
    pub(super) refusal: Option<(String, Refusal)>,
}

/// Reads `text`. Nodes that touch one of `damage` (sorted) are unreadable: something else was written there.
pub(super) fn compose(text: &str, damage: &[TextRange]) -> Composed {
    let mut composer = Composer {
        scanner: Scanner::new(text),
        damage,
        findings: Findings::default(),
        faults: Vec::new(),
        path: String::new(),
        anchors: HashMap::default(),
        budget: ALIAS_BUDGET,
        is_spent: false,
        flow: Vec::new(),
    };
    let outcome = composer.document();
    composer.collect_faults();
    let path = std::mem::take(&mut composer.path);
    let (root, refusal) = match outcome {
        Ok(root) => (root, None),
        Err(refusal) => (None, Some((path, refusal))),
    };
    Composed {
        root,
        comments: std::mem::take(&mut composer.scanner.comments),
        findings: composer.findings,
        faults: composer.faults,
        refusal,
    }
}

struct Composer<'t> {
    scanner: Scanner<'t>,
    damage: &'t [TextRange],
    findings: Findings,
    faults: Vec<(String, Refusal)>,
    /// The path of the node being read.
    path: String,
    anchors: HashMap<&'t str, Anchor>,
    budget: usize,
    /// Whether the budget's end has been told.
    is_spent: bool,
    /// Where the open brackets stand. The scanner may be ahead, and have closed some.
    flow: Vec<usize>,
}

/// An anchored node; nothing while it is still being read.
struct Anchor {
    range: TextRange,
    node: Option<Node>,
}

/// What may stand where a node is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    /// Behind a `- ` or at the start.
    Block,
    /// Behind a key of a block mapping, where a list may stand as far out as the key.
    BlockValue,
    /// Between brackets.
    Flow,
}

/// The anchor and the tag in front of a node.
#[derive(Default)]
struct Properties<'t> {
    anchor: Option<(&'t str, TextRange)>,
    tag: Option<(&'t str, TextRange)>,
}

type Compose<T> = Result<T, Refusal>;

impl<'t> Composer<'t> {
    fn document(&mut self) -> Compose<Option<Node>> {
        if self.at(|kind| matches!(kind, TokenKind::End))? {
            return Ok(None);
        }
        let root = self.node(Context::Block, 0)?;
        if !self.at(|kind| matches!(kind, TokenKind::End))? {
            return self.refuse_token("the end of the entry");
        }
        Ok(Some(root))
    }

    fn at(&mut self, test: impl Fn(&TokenKind<'t>) -> bool) -> Compose<bool> {
        Ok(test(&self.scanner.peek_token()?.kind))
    }

    fn take(&mut self) -> Compose<Token<'t>> {
        self.scanner.next_token()
    }

    fn collect_faults(&mut self) {
        for fault in std::mem::take(&mut self.scanner.faults) {
            self.faults.push((self.path.clone(), fault));
        }
    }

    /// Refuses the next token where `wanted` was.
    fn refuse_token<T>(&mut self, wanted: &str) -> Compose<T> {
        let token = self.scanner.peek_token()?.clone();
        let at = usize::from(token.range.start());
        if let Some(quote) = self.scanner.long_quote_before(at) {
            return self.scanner.refuse_open_quote(quote);
        }
        let in_flow = self.flow.last().copied();
        let (message, help) = match (&token.kind, in_flow) {
            (TokenKind::BlockMappingStart | TokenKind::BlockSequenceStart, None) => (
                "the indentation of this line fits no block above it".to_owned(),
                Some("indent it exactly as far as its siblings"),
            ),
            (TokenKind::BlockEntry, Some(_)) => {
                ("a list item (`- `) cannot stand between brackets".to_owned(), Some("separate items with `,`"))
            }
            (kind, _) => (format!("{} stands where {wanted} is expected", describe(kind)), None),
        };
        let range = if token.range.is_empty() { self.scanner.word_at(at) } else { token.range };
        Err(Refusal { range, at, construct: None, flow: in_flow, is_limit: false, message, help })
    }

    // Nodes.

    /// Reads a node.
    fn node(&mut self, context: Context, depth: usize) -> Compose<Node> {
        if depth > MAX_DEPTH {
            let range = self.scanner.peek_token()?.range;
            return Err(Refusal {
                range,
                at: range.start().into(),
                construct: None,
                flow: None,
                is_limit: true,
                message: format!("the entry is nested more than {MAX_DEPTH} levels deep"),
                help: None,
            });
        }
        if let TokenKind::Alias(name) = self.scanner.peek_token()?.kind {
            let token = self.take()?;
            return Ok(self.alias(name, token.range, depth));
        }
        let properties = self.properties()?;
        if let Some((name, range)) = properties.anchor {
            self.declare(name, range);
        }
        let node = self.content(context, depth, &properties)?;
        if let Some((name, _)) = properties.anchor
            && let Some(anchor) = self.anchors.get_mut(name)
        {
            anchor.node = Some(node.clone());
        }
        Ok(node)
    }

    fn properties(&mut self) -> Compose<Properties<'t>> {
        let mut properties = Properties::default();
        loop {
            let token = self.scanner.peek_token()?;
            let range = token.range;
            match token.kind {
                TokenKind::Anchor(name) if properties.anchor.is_none() => properties.anchor = Some((name, range)),
                TokenKind::Tag(tag) if properties.tag.is_none() => properties.tag = Some((tag, range)),
                _ => break,
            }
            self.take()?;
        }
        if let Some((tag, range)) = properties.tag {
            self.findings
                .report(
                    &codes::YAML_TAG,
                    range,
                    self.path.clone(),
                    tag,
                    format!("the tag {} is not allowed", shorten(tag)),
                )
                .help("remove it: the form of a value decides its type");
        }
        Ok(properties)
    }

    fn declare(&mut self, name: &'t str, range: TextRange) {
        let message = format!("the anchor {} is not allowed", shorten(&format!("&{name}")));
        self.findings
            .report(&codes::YAML_ANCHOR, range, self.path.clone(), name, message)
            .help("remove it, and write the value out wherever it is used");
        self.anchors.insert(name, Anchor { range, node: None });
    }

    /// The node that an alias stands for, with the alias's own place.
    fn alias(&mut self, name: &'t str, range: TextRange, depth: usize) -> Node {
        let shown = shorten(&format!("*{name}"));
        let path = self.path.clone();
        let help = "write the value out";
        let unreadable = Node { range, kind: NodeKind::Unreadable };
        let Some(anchor) = self.anchors.get(name) else {
            let message = format!("the alias {shown} has no anchor above it in its entry");
            self.findings.report(&codes::YAML_ANCHOR, range, path, name, message).help(help);
            return unreadable;
        };
        let place = anchor.range;
        let Some(node) = &anchor.node else {
            let message = format!("the alias {shown} stands inside the value that it names");
            let defect = self.findings.report(&codes::YAML_ANCHOR, range, path, name, message);
            defect.help(help).related(place, "the anchor is here");
            return unreadable;
        };
        let (nodes, levels) = measure(node);
        if nodes > self.budget || depth + levels > MAX_DEPTH {
            if !self.is_spent {
                let message = format!("the alias {shown} makes the entry too large to read");
                let defect = self.findings.report(&codes::YAML_LIMIT, range, path, name, message);
                defect.help(help).related(place, "the anchor is here");
            }
            self.is_spent = true;
            return unreadable;
        }
        self.budget -= nodes;
        let mut kind = node.kind.clone();
        if let NodeKind::Scalar(scalar) = &mut kind {
            // Two readings of it are a defect once, where it is written.
            scalar.yaml12 = None;
        }
        let message = format!("the alias {shown} is not allowed");
        let defect = self.findings.report(&codes::YAML_ANCHOR, range, path, name, message);
        defect.help(help).related(place, "the anchor is here");
        Node { range, kind }
    }

    fn content(&mut self, context: Context, depth: usize, properties: &Properties<'t>) -> Compose<Node> {
        let block = context != Context::Flow;
        let token = self.scanner.peek_token()?;
        match token.kind {
            TokenKind::BlockEntry if context == Context::BlockValue => self.block_sequence(depth, true),
            TokenKind::Scalar(_) => {
                let token = self.take()?;
                match token.kind {
                    TokenKind::Scalar(raw) => Ok(self.scalar(raw, token.range, properties)),
                    // The kind was looked at just above.
                    _ => Ok(Node { range: token.range, kind: NodeKind::Unreadable }),
                }
            }
            TokenKind::FlowSequenceStart => self.flow_sequence(depth),
            TokenKind::FlowMappingStart => self.flow_mapping(depth),
            TokenKind::BlockSequenceStart if block => {
                self.take()?;
                self.block_sequence(depth, false)
            }
            TokenKind::BlockMappingStart if block => self.block_mapping(depth),
            _ => match (properties.anchor, properties.tag) {
                (None, None) => self.refuse_token("a value"),
                (anchor, tag) => {
                    let end = [anchor, tag].into_iter().flatten().map(|(_, range)| range.end()).max();
                    Ok(self.empty(end.unwrap_or_default()))
                }
            },
        }
    }

    /// All the damage that `range` touches.
    fn damage_at(&self, range: TextRange) -> Option<TextRange> {
        let next = self.damage.partition_point(|damage| damage.end() <= range.start());
        let touching = self.damage.get(next..)?.iter().take_while(|damage| damage.start() < range.end());
        touching.copied().reduce(TextRange::cover)
    }

    /// The null that stands where nothing is written.
    fn empty(&self, at: TextSize) -> Node {
        let range = TextRange::empty(at);
        // The empty place behind `x:` counts as damaged where the colon does.
        let before = TextRange::new(at.checked_sub(1.into()).unwrap_or(at), at);
        if let Some(damage) = self.damage_at(before) {
            return Node { range: TextRange::empty(damage.end()), kind: NodeKind::Unreadable };
        }
        Node {
            range,
            kind: NodeKind::Scalar(Scalar {
                text: Arc::from(""),
                style: ScalarStyle::Plain,
                value: ScalarValue::Null,
                yaml12: None,
                map: SourceMap::empty(at),
            }),
        }
    }

    fn scalar(&mut self, raw: RawScalar, range: TextRange, properties: &Properties<'t>) -> Node {
        self.collect_faults();
        if let Some(damage) = self.damage_at(range) {
            return Node { range: range.cover(damage), kind: NodeKind::Unreadable };
        }
        if raw.broken {
            return Node { range, kind: NodeKind::Unreadable };
        }
        let plain = raw.style == ScalarStyle::Plain;
        let (value, yaml12) = match properties.tag {
            None if plain => resolve::plain(&raw.text),
            None => (ScalarValue::Str, None),
            // The non-specific tag leaves the choice to the text, however it is quoted.
            Some(("!", _)) => (resolve::plain(&raw.text).0, None),
            Some((tag, _)) => (tagged(tag, &raw.text, plain), None),
        };
        Node {
            range,
            kind: NodeKind::Scalar(Scalar { text: Arc::from(raw.text), style: raw.style, value, yaml12, map: raw.map }),
        }
    }

    // Collections.

    fn block_sequence(&mut self, depth: usize, indentless: bool) -> Compose<Node> {
        let mut items = Vec::new();
        let mut range: Option<TextRange> = None;
        loop {
            let token = self.scanner.peek_token()?;
            let dash = token.range;
            match token.kind {
                TokenKind::BlockEntry => {}
                TokenKind::BlockEnd if !indentless => {
                    self.take()?;
                    break;
                }
                _ if indentless => break,
                _ => return self.refuse_token("a list item (`- `)"),
            }
            self.take()?;
            let mark = self.enter_item(items.len());
            let absent = self.at(|kind| match kind {
                TokenKind::BlockEntry | TokenKind::BlockEnd => true,
                TokenKind::Key | TokenKind::Value => indentless,
                _ => false,
            })?;
            let item = if absent { self.empty(dash.end()) } else { self.node(Context::Block, depth + 1)? };
            self.judge_value(&item);
            self.path.truncate(mark);
            range = Some(range.unwrap_or(dash).cover(dash).cover(item.range));
            items.push(item);
        }
        let range = range.unwrap_or_default();
        Ok(Node { range, kind: NodeKind::Sequence(items) })
    }

    fn block_mapping(&mut self, depth: usize) -> Compose<Node> {
        let start = self.take()?;
        let mut pairs = Pairs { is_root: depth == 0, ..Pairs::default() };
        let mut range = start.range;
        loop {
            let token = self.scanner.peek_token()?;
            match token.kind {
                TokenKind::Key => {}
                TokenKind::BlockEnd => {
                    self.take()?;
                    break;
                }
                _ => return self.refuse_token("the next key"),
            }
            let key_token = self.take()?;
            let absent = self.at(|kind| matches!(kind, TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd))?;
            let key =
                if absent { self.empty(key_token.range.end()) } else { self.node(Context::BlockValue, depth + 1)? };
            let mark = self.enter_key(&key, depth == 0);
            let value = self.block_value(depth)?;
            self.path.truncate(mark);
            range = range.cover(key.range).cover(value.range);
            self.add(&mut pairs, key, value);
        }
        Ok(self.mapping(pairs, range))
    }

    /// The value of a block mapping's key: behind its `:`, or absent.
    fn block_value(&mut self, depth: usize) -> Compose<Node> {
        let token = self.scanner.peek_token()?;
        if token.kind != TokenKind::Value {
            let at = token.range.start();
            return Ok(self.empty(at));
        }
        let colon = self.take()?.range;
        if self.at(|kind| matches!(kind, TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd))? {
            return Ok(self.empty(colon.end()));
        }
        self.node(Context::BlockValue, depth + 1)
    }

    fn flow_sequence(&mut self, depth: usize) -> Compose<Node> {
        let open = self.take()?.range;
        self.flow.push(open.start().into());
        let mut items = Vec::new();
        loop {
            if self.at(|kind| matches!(kind, TokenKind::FlowSequenceEnd))? {
                break;
            }
            if !items.is_empty() {
                if !self.at(|kind| matches!(kind, TokenKind::FlowEntry))? {
                    return self.refuse_token("`,` or `]`");
                }
                self.take()?;
                if self.at(|kind| matches!(kind, TokenKind::FlowSequenceEnd))? {
                    break;
                }
            }
            let mark = self.enter_item(items.len());
            let item = if self.at(|kind| matches!(kind, TokenKind::Key))? {
                // `[a: b]`: a mapping of one pair.
                let token = self.take()?.range;
                let mut pairs = Pairs::default();
                let (key, value) = self.flow_pair(depth + 1, token, |kind| {
                    matches!(kind, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd)
                })?;
                let range = token.cover(key.range).cover(value.range);
                self.add(&mut pairs, key, value);
                self.mapping(pairs, range)
            } else {
                self.node(Context::Flow, depth + 1)?
            };
            self.judge_value(&item);
            self.path.truncate(mark);
            items.push(item);
        }
        let close = self.take()?.range;
        self.flow.pop();
        Ok(Node { range: open.cover(close), kind: NodeKind::Sequence(items) })
    }

    fn flow_mapping(&mut self, depth: usize) -> Compose<Node> {
        let ends = |kind: &TokenKind<'t>| matches!(kind, TokenKind::FlowEntry | TokenKind::FlowMappingEnd);
        let open = self.take()?.range;
        self.flow.push(open.start().into());
        let mut pairs = Pairs::default();
        let mut first = true;
        loop {
            if self.at(|kind| matches!(kind, TokenKind::FlowMappingEnd))? {
                break;
            }
            if !first {
                if !self.at(|kind| matches!(kind, TokenKind::FlowEntry))? {
                    return self.refuse_token("`,` or `}`");
                }
                self.take()?;
                if self.at(|kind| matches!(kind, TokenKind::FlowMappingEnd))? {
                    break;
                }
            }
            first = false;
            let (key, value) = if self.at(|kind| matches!(kind, TokenKind::Key))? {
                let token = self.take()?.range;
                self.flow_pair(depth, token, ends)?
            } else {
                let key = self.node(Context::Flow, depth + 1)?;
                let at = self.scanner.peek_token()?.range.start();
                let value = self.empty(at.min(key.range.end()));
                (key, value)
            };
            self.add(&mut pairs, key, value);
        }
        let close = self.take()?.range;
        self.flow.pop();
        Ok(self.mapping(pairs, open.cover(close)))
    }

    /// A key and its value between brackets; `token` is the key token, `ends` what ends the pair.
    fn flow_pair(
        &mut self,
        depth: usize,
        token: TextRange,
        ends: impl Fn(&TokenKind<'t>) -> bool,
    ) -> Compose<(Node, Node)> {
        let absent = self.at(|kind| matches!(kind, TokenKind::Value) || ends(kind))?;
        let key = if absent { self.empty(token.end()) } else { self.node(Context::Flow, depth + 1)? };
        let mark = self.enter_key(&key, false);
        let value = if self.at(|kind| matches!(kind, TokenKind::Value))? {
            let colon = self.take()?.range;
            if self.at(&ends)? { self.empty(colon.end()) } else { self.node(Context::Flow, depth + 1)? }
        } else {
            self.empty(key.range.end())
        };
        self.path.truncate(mark);
        Ok((key, value))
    }

    // Paths.

    /// Steps the path to an item; the result truncates it back.
    fn enter_item(&mut self, index: usize) -> usize {
        let mark = self.path.len();
        self.path.push_str(&format!("[{index}]"));
        mark
    }

    /// Steps the path to a key's value; the entry's own key (`is_root`) adds nothing to it.
    fn enter_key(&mut self, key: &Node, is_root: bool) -> usize {
        let mark = self.path.len();
        if !is_root {
            self.path.push_str(&step(&self.path, key));
        }
        mark
    }

    // Judgments.

    fn add(&mut self, pairs: &mut Pairs, mut key: Node, value: Node) {
        let is_merge = key.as_scalar().is_some_and(|s| s.style == ScalarStyle::Plain && &*s.text == "<<");
        if is_merge {
            self.merge(pairs, key, value);
            return;
        }
        let mark = self.enter_key(&key, pairs.is_root);
        self.judge_key(&key);
        self.judge_value(&value);
        if let Some(identity) = identity(&key) {
            match pairs.seen.get(&identity) {
                Some(&first) => {
                    let name = key.as_scalar().map_or("", |s| &s.text);
                    let message = format!("the key {} is repeated", shorten(name));
                    self.findings
                        .report(&codes::DUPLICATE_KEY, key.range, self.path.clone(), name, message)
                        .help("keep one of the two: readers silently take the last one")
                        .related(first, "it is first written here");
                }
                None => {
                    pairs.seen.insert(identity, key.range);
                }
            }
        }
        self.path.truncate(mark);
        if let NodeKind::Scalar(scalar) = &mut key.kind
            && &*scalar.text == "="
        {
            // A string to all readers where it is a key.
            (scalar.value, scalar.yaml12) = (ScalarValue::Str, None);
        }
        if let NodeKind::Scalar(scalar) = &mut key.kind
            && scalar.text.starts_with(|c: char| c.is_ascii_alphabetic())
            && scalar.value != ScalarValue::Str
        {
            // Reported (`on`, `null`); what it was meant to be is the name that it looks like.
            scalar.yaml12 = Some(std::mem::replace(&mut scalar.value, ScalarValue::Str));
        }
        pairs.own.push(Pair { key, value });
    }

    fn judge_key(&mut self, key: &Node) {
        let message = match &key.kind {
            NodeKind::Unreadable => return,
            NodeKind::Scalar(scalar) if scalar.value == ScalarValue::Str => {
                self.judge_ambiguity(scalar, key.range);
                return;
            }
            // PyYAML reads a `=` that is a key as a string.
            NodeKind::Scalar(scalar) if &*scalar.text == "=" => return,
            NodeKind::Scalar(scalar) if scalar.text.is_empty() => "a key is a string, and here is none".to_owned(),
            NodeKind::Scalar(scalar) => {
                format!("a key is a string, and {} is {}", shorten(&scalar.text), with_value(&scalar.value))
            }
            _ => format!("a key is a string, not {}", key.describe()),
        };
        let subject = key.as_scalar().map_or("", |s| &s.text);
        let defect = self.findings.report(&codes::NON_STRING_KEY, key.range, self.path.clone(), subject, message);
        if !subject.is_empty() {
            defect.help(format!("write it in quotes: {}", quoted(subject)));
        }
    }

    fn judge_value(&mut self, value: &Node) {
        if let NodeKind::Scalar(scalar) = &value.kind {
            self.judge_ambiguity(scalar, value.range);
        }
    }

    fn judge_ambiguity(&mut self, scalar: &Scalar, range: TextRange) {
        let Some(yaml12) = &scalar.yaml12 else { return };
        let message = format!(
            "{} is {} to PyYAML (YAML 1.1) and {} to readers of YAML 1.2",
            shorten(&scalar.text),
            with_value(&scalar.value),
            with_value(yaml12)
        );
        let string = quoted(&scalar.text);
        let help = match (unambiguous(&scalar.value), unambiguous(yaml12)) {
            (Some(a), Some(b)) => format!("write `{a}` or `{b}`, whichever is meant, or {string} for the text"),
            (Some(a), None) | (None, Some(a)) => format!("write `{a}`, or {string} for the text"),
            (None, None) => format!("write {string} for the text"),
        };
        self.findings.report(&codes::AMBIGUOUS_SCALAR, range, self.path.clone(), &*scalar.text, message).help(help);
    }

    fn merge(&mut self, pairs: &mut Pairs, key: Node, value: Node) {
        let path = self.path.clone();
        self.findings
            .report(&codes::YAML_MERGE_KEY, key.range, path, "<<", "the merge key `<<` is not allowed")
            .help("write the merged keys out");
        match value.kind {
            NodeKind::Mapping(merged) => pairs.merged.extend(merged),
            // Of several mappings the first wins, so it comes last.
            NodeKind::Sequence(items) => {
                for item in items.into_iter().rev() {
                    if let NodeKind::Mapping(merged) = item.kind {
                        pairs.merged.extend(merged);
                    }
                }
            }
            NodeKind::Scalar(_) | NodeKind::Unreadable => {}
        }
    }

    /// The mapping of `pairs`: what was merged comes first, and only where nothing of its name follows.
    fn mapping(&mut self, pairs: Pairs, range: TextRange) -> Node {
        if pairs.merged.is_empty() {
            return Node { range, kind: NodeKind::Mapping(pairs.own) };
        }
        let mut seen = pairs.seen;
        let mut kept: Vec<Pair> = Vec::with_capacity(pairs.merged.len() + pairs.own.len());
        for pair in pairs.merged.into_iter().rev() {
            match identity(&pair.key) {
                Some(identity) if seen.contains_key(&identity) => {}
                Some(identity) => {
                    seen.insert(identity, pair.key.range);
                    kept.push(pair);
                }
                None => kept.push(pair),
            }
        }
        kept.reverse();
        kept.extend(pairs.own);
        Node { range, kind: NodeKind::Mapping(kept) }
    }
}

/// The pairs of a mapping while it is read.
#[derive(Default)]
struct Pairs {
    /// Whether these are the entries of the file.
    is_root: bool,
    own: Vec<Pair>,
    merged: Vec<Pair>,
    /// The identity of each key and where it is first written.
    seen: HashMap<String, TextRange>,
}

/// What makes two keys the same to PyYAML.
fn identity(key: &Node) -> Option<String> {
    let scalar = key.as_scalar()?;
    Some(match &scalar.value {
        ScalarValue::Str => format!("s{}", scalar.text),
        ScalarValue::Null => "n".to_owned(),
        ScalarValue::Bool(value) => format!("i{}", i32::from(*value)),
        ScalarValue::Int(value) => format!("i{value}"),
        ScalarValue::Float(value) => format!("f{value}"),
        ScalarValue::Other(_) => format!("o{}", scalar.text),
    })
}

/// What a key adds to the path.
fn step(path: &str, key: &Node) -> String {
    let name = key.as_scalar().map_or("?", |s| &s.text);
    let name: String = name.chars().take(80).collect();
    if path.is_empty() { name } else { format!(".{name}") }
}

/// How many nodes a tree has and how many levels deep it is.
fn measure(node: &Node) -> (usize, usize) {
    let mut nodes = 0;
    let mut levels = 0;
    let mut stack = vec![(node, 1)];
    while let Some((node, level)) = stack.pop() {
        nodes += 1;
        levels = levels.max(level);
        match &node.kind {
            NodeKind::Mapping(pairs) => {
                stack.extend(pairs.iter().flat_map(|pair| [(&pair.key, level + 1), (&pair.value, level + 1)]));
            }
            NodeKind::Sequence(items) => stack.extend(items.iter().map(|item| (item, level + 1))),
            NodeKind::Scalar(_) | NodeKind::Unreadable => {}
        }
    }
    (nodes, levels)
}

/// The value of a tagged scalar. A tag that PyYAML does not construct counts as not written.
fn tagged(tag: &str, text: &str, is_plain: bool) -> ScalarValue {
    let full = match tag.strip_prefix("!!") {
        Some(name) => format!("tag:yaml.org,2002:{name}"),
        None => tag.strip_prefix("!<").and_then(|tag| tag.strip_suffix('>')).unwrap_or(tag).to_owned(),
    };
    let untagged = || if is_plain { resolve::plain(text).0 } else { ScalarValue::Str };
    resolve::tagged(&full, text).unwrap_or_else(untagged)
}

/// A value as a message tells it from others: "the integer 8", "a string".
fn with_value(value: &ScalarValue) -> String {
    match value {
        ScalarValue::Bool(value) => format!("the boolean `{value}`"),
        ScalarValue::Int(value) => format!("the integer {value}"),
        ScalarValue::Float(value) => format!("the float {}", float(*value)),
        other => other.describe().to_owned(),
    }
}

/// How to write a value so that every reader reads it; nothing for a string, which needs its quotes.
pub(crate) fn unambiguous(value: &ScalarValue) -> Option<String> {
    match value {
        ScalarValue::Bool(value) => Some(value.to_string()),
        ScalarValue::Int(value) => Some(value.to_string()),
        ScalarValue::Float(value) => Some(float(*value)),
        _ => None,
    }
}

/// A float in a form that both families read as one: with a point, and a sign in the exponent.
fn float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let written = format!("{value:e}");
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

/// A text as a double-quoted scalar in backticks, shortened.
fn quoted(text: &str) -> String {
    shorten(&format!("{text:?}"))
}

fn describe(kind: &TokenKind<'_>) -> String {
    match kind {
        TokenKind::BlockSequenceStart | TokenKind::BlockEntry => "a list item (`- `)".to_owned(),
        TokenKind::BlockMappingStart => "a key".to_owned(),
        TokenKind::BlockEnd => "the end of the block".to_owned(),
        TokenKind::FlowSequenceStart => "`[`".to_owned(),
        TokenKind::FlowMappingStart => "`{`".to_owned(),
        TokenKind::FlowSequenceEnd => "`]`".to_owned(),
        TokenKind::FlowMappingEnd => "`}`".to_owned(),
        TokenKind::FlowEntry => "`,`".to_owned(),
        TokenKind::Key => "a key".to_owned(),
        TokenKind::Value => "`:`".to_owned(),
        TokenKind::Alias(name) => shorten(&format!("*{name}")),
        TokenKind::Anchor(name) => shorten(&format!("&{name}")),
        TokenKind::Tag(tag) => shorten(tag),
        TokenKind::Scalar(raw) if raw.text.is_empty() => "an empty text".to_owned(),
        TokenKind::Scalar(raw) => shorten(raw.text.lines().next().unwrap_or_default()),
        TokenKind::End => "the end of the entry".to_owned(),
    }
}
