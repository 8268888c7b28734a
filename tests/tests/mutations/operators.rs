//! The mutations: each changes one node of an entry's text and leaves the rest as it is.

use std::ops::Range;

use tileops_analyzer::syntax::{EntryTree, NodeKind, ScalarValue};

use crate::text::{Site, Token, TokenKind, removal, sites, span, tokens};

/// Whether what a mutation gives is wrong for sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// It breaks a rule of the language.
    Wrong,
    /// It may be another valid manifest.
    Open,
}

/// One mutated entry.
#[derive(Debug, Clone)]
pub(crate) struct Mutant {
    pub(crate) operator: &'static str,
    pub(crate) verdict: Verdict,
    /// Where, as a path of keys.
    pub(crate) path: String,
    /// What is replaced, and by what.
    pub(crate) edit: Range<usize>,
    pub(crate) replacement: String,
    /// The construct: the node, what it stands in, and where what it declared is used.
    pub(crate) construct: Vec<Range<usize>>,
}

struct Entry<'t> {
    text: &'t str,
    sites: Vec<Site<'t>>,
    /// Every use of a name: the name, where, and the path of the scalar or key.
    uses: Vec<Use>,
    mutants: Vec<Mutant>,
}

#[derive(Debug, Clone)]
struct Use {
    name: String,
    range: Range<usize>,
    /// The family whose formals it may be; nothing for a name of the entry.
    family: Option<String>,
    /// Whether it can be quoted inside an expression.
    place: UsePlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UsePlace {
    Expression,
    RowKey,
    Case,
    Some,
    Alias,
    Match,
}

/// Every mutant of an entry.
pub(crate) fn mutants(text: &str, tree: &EntryTree) -> Vec<Mutant> {
    let sites = sites(tree);
    let uses = uses(text, &sites);
    let mut entry = Entry { text, sites, uses, mutants: Vec::new() };
    entry.keys();
    entry.declarations();
    entry.names();
    entry.expressions();
    entry.shapes();
    entry.calls();
    entry.kinds();
    entry.families();
    entry.effects();
    entry.row_values();
    entry.rest();
    entry.mutants
}

fn family_of(site: &Site<'_>) -> Option<String> {
    site.is("signature.types.*.cases.*.is").then(|| site.path[2].clone())
}

fn uses(text: &str, sites: &[Site<'_>]) -> Vec<Use> {
    let mut uses = Vec::new();
    for site in sites {
        if site.is_expression() {
            for token in tokens(text, site.inner()).into_iter().filter(|t| t.kind == TokenKind::Name) {
                uses.push(Use {
                    name: token.text,
                    range: token.range,
                    family: family_of(site),
                    place: UsePlace::Expression,
                });
            }
        }
        let key = site.key.map(|key| (key.as_scalar().map_or(String::new(), |s| s.text.to_string()), span(key.range)));
        let scalar = |place| {
            let scalar = site.node.as_scalar();
            scalar.map(|s| Use { name: s.text.to_string(), range: site.inner(), family: None, place })
        };
        let of_key = |place| key.clone().map(|(name, range)| Use { name, range, family: None, place });
        if site.is("workloads.*.*") && !["some", "dtype_cases", "label"].contains(&site.last()) {
            uses.extend(of_key(UsePlace::RowKey));
        } else if site.is("workloads.*.dtype_cases.*.*") || site.is("signature.dtype_combos.*.*") {
            uses.extend(of_key(UsePlace::Case));
        } else if site.is("workloads.*.some.*") {
            uses.extend(scalar(UsePlace::Some));
        } else if site.is("signature.outputs.*.alias") {
            uses.extend(scalar(UsePlace::Alias));
        } else if site.is("signature.types.*.match") || site.is("signature.types.*.match.*") {
            uses.extend(scalar(UsePlace::Match).map(|mut found| {
                found.family = Some(site.path[2].clone());
                found
            }));
        }
    }
    uses
}

impl<'t> Entry<'t> {
    fn add(
        &mut self,
        operator: &'static str,
        verdict: Verdict,
        site: &Site<'_>,
        edit: Range<usize>,
        replacement: impl Into<String>,
    ) {
        let construct = vec![site.whole(), self.enclosing(site)];
        self.push(operator, verdict, site, edit, replacement.into(), construct);
    }

    /// What the site stands in; not the whole entry or a whole section but for what stands there itself.
    fn enclosing(&self, site: &Site<'_>) -> Range<usize> {
        site.parent.clone()
    }

    fn push(
        &mut self,
        operator: &'static str,
        verdict: Verdict,
        site: &Site<'_>,
        edit: Range<usize>,
        replacement: String,
        construct: Vec<Range<usize>>,
    ) {
        if self.text[edit.clone()] == replacement {
            return;
        }
        self.mutants.push(Mutant { operator, verdict, path: site.path.join("."), edit, replacement, construct });
    }

    fn uses_of(&self, name: &str, family: Option<&str>) -> Vec<Range<usize>> {
        let own = |u: &&Use| u.name == name && u.family.as_deref() == family;
        self.uses.iter().filter(own).map(|u| u.range.clone()).collect()
    }

    fn has(&self, pattern: &str) -> bool {
        self.sites.iter().any(|site| site.is(pattern))
    }

    /// The names that a section declares.
    fn names_of(&self, section: &str) -> Vec<String> {
        let pattern = format!("signature.{section}.*");
        self.sites.iter().filter(|site| site.is(&pattern)).map(|site| site.last().to_owned()).collect()
    }

    fn scalar(&self, site: &Site<'_>) -> String {
        site.node.as_scalar().map_or(String::new(), |s| s.text.to_string())
    }

    /// Keys: dropped, misspelt, written twice.
    fn keys(&mut self) {
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            let NodeKind::Mapping(pairs) = &site.node.kind else { continue };
            for (position, pair) in pairs.iter().enumerate() {
                let Some(key) = pair.key.as_scalar().map(|s| s.text.to_string()) else { continue };
                let mut path = site.path.clone();
                path.push(key.clone());
                let whole = span(pair.key.range).start..span(pair.value.range).end;
                let child = Site { path, node: &pair.value, key: Some(&pair.key), parent: site.whole() };
                let Some((edit, replacement)) = removal(site.node, position, self.text) else { continue };
                let (verdict, uses) = self.drop_verdict(&child, &key);
                let mut construct = vec![site.whole()];
                construct.extend(uses);
                self.push("drop a key", verdict, &child, edit, replacement.into(), construct);
                if self.text[whole.clone()].contains('\n') {
                    continue;
                }
                // Twice, side by side.
                let flow = self.text[span(site.node.range)].starts_with('{');
                let pair_text = &self.text[whole.clone()];
                let column = whole.start - self.text[..whole.start].rfind('\n').map_or(0, |n| n + 1);
                let again = match flow {
                    true => format!("{pair_text}, {pair_text}"),
                    false => format!("{pair_text}\n{}{pair_text}", " ".repeat(column)),
                };
                if flow || pairs.len() > 1 {
                    self.add("write a key twice", Verdict::Wrong, &child, whole, again);
                }
            }
        }
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            let fixed = site.path.len() == 1
                || site.is("signature|roofline|composition.*")
                || site.is("signature.params|inputs|outputs.*.*")
                || site.is("signature.types.*.*")
                || site.is("signature.types.*.cases.*.*")
                || site.is("composition.stages.*.*");
            if let (true, Some(key)) = (fixed, site.key) {
                let range = span(key.range);
                let text = format!("{}q", &self.text[range.clone()]);
                self.add("misspell a key", Verdict::Wrong, &site, range, text);
            }
        }
    }

    fn drop_verdict(&self, site: &Site<'_>, key: &str) -> (Verdict, Vec<Range<usize>>) {
        let wrong = |is_wrong: bool| if is_wrong { Verdict::Wrong } else { Verdict::Open };
        let declares = site.is("signature.forall|params|let|types|inputs|outputs.*");
        if declares {
            let mut uses = self.uses_of(key, None);
            // What stands in the declaration itself goes with it.
            let own = site.whole();
            uses.retain(|range| range.start < own.start || own.end < range.end);
            uses.extend(self.applications(key));
            return (wrong(!uses.is_empty()), uses);
        }
        let sibling = |name: &str| {
            let mut path = site.path.clone();
            path.pop();
            path.push(name.to_owned());
            self.sites.iter().any(|s| s.path == path)
        };
        let required = site.is("family|status|signature|workloads|roofline")
            || site.is("signature.inputs|outputs.*.dtype|shape")
            || site.is("signature.types.*.params|match|cases")
            || site.is("signature.types.*.cases.*.when|is")
            || site.is("roofline.flops|func")
            || site.is("workloads.*.label")
            || site.is("workloads.*.dtype_cases")
            || site.is("workloads.*.dtype_cases.*.*")
            || site.is("composition.kind|stages")
            || site.is("composition.stages.*.name|op|kernel");
        if required {
            return (Verdict::Wrong, Vec::new());
        }
        if site.is("signature.forall|params|inputs|let|types") {
            // Unless nothing stands in it.
            let used = self.names_of(key).iter().any(|name| !self.uses_of(name, None).is_empty());
            return (wrong(used || key == "inputs"), std::iter::once(0..self.text.len()).collect());
        }
        if site.is("signature.outputs") {
            let names = self.names_of(key);
            let uses: Vec<Range<usize>> = names.iter().flat_map(|name| self.uses_of(name, None)).collect();
            return (wrong(!uses.is_empty()), uses);
        }
        if site.is("signature.params.*.type") {
            return (wrong(!sibling("dtype")), Vec::new());
        }
        if site.is("signature.types.*.params.*") {
            let uses = self.uses_of(key, Some(&site.path[2]));
            return (wrong(!uses.is_empty()), uses);
        }
        if site.is("signature.params.*.default") {
            let given = self.rows().iter().all(|row| self.has(&format!("workloads.{row}.{}", site.path[2])));
            return (wrong(!given), self.row_ranges());
        }
        if site.is("workloads.*.*") && !["some", "label", "dtype_cases"].contains(&key) {
            return (wrong(!self.has(&format!("signature.params.{key}.default"))), Vec::new());
        }
        if site.is("signature.inputs.*.mutated") {
            let aliased =
                self.sites.iter().any(|s| s.is("signature.outputs.*.alias") && self.scalar(s) == site.path[2]);
            return (wrong(sibling("write_only") || aliased), Vec::new());
        }
        if site.is("signature.inputs.*.values") {
            return (wrong(sibling("requires")), Vec::new());
        }
        if site.is("signature.inputs.*.optional") {
            let passed = self.uses.iter().any(|u| u.place == UsePlace::Some && u.name == site.path[2]);
            return (wrong(passed), self.row_ranges());
        }
        (Verdict::Open, Vec::new())
    }

    fn rows(&self) -> Vec<String> {
        self.sites.iter().filter(|s| s.is("workloads.*")).map(|s| s.last().to_owned()).collect()
    }

    fn row_ranges(&self) -> Vec<Range<usize>> {
        self.sites.iter().filter(|s| s.is("workloads.*")).map(Site::whole).collect()
    }

    /// Where a family is applied.
    fn applications(&self, name: &str) -> Vec<Range<usize>> {
        let shapes = self.sites.iter().filter(|s| s.is_expression());
        shapes
            .flat_map(|site| tokens(self.text, site.inner()).into_iter().take(1))
            .filter(|token| token.text == name)
            .map(|token| token.range)
            .collect()
    }

    /// Declarations renamed, with their uses left.
    fn declarations(&mut self) {
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            let Some(key) = site.key else { continue };
            let name = site.last().to_owned();
            let family = site.is("signature.types.*.params.*").then(|| site.path[2].clone());
            if !site.is("signature.forall|params|let|types|inputs|outputs.*") && family.is_none() {
                continue;
            }
            let mut uses = self.uses_of(&name, family.as_deref());
            uses.extend(self.applications(&name));
            let verdict = if uses.is_empty() { Verdict::Open } else { Verdict::Wrong };
            let mut construct = vec![site.whole(), site.parent.clone()];
            construct.extend(uses);
            self.push("rename a declaration", verdict, &site, span(key.range), format!("{name}_q"), construct);
        }
    }

    /// One use of a name: misspelt, or another name of its section.
    fn names(&mut self) {
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            if site.is_expression() {
                let mut seen = Vec::new();
                for token in tokens(self.text, site.inner()) {
                    if token.kind != TokenKind::Name {
                        continue;
                    }
                    // Literals of the language are misspelt elsewhere.
                    let literal = ["True", "False", "None", "inf"].contains(&token.text.as_str());
                    let operator = if literal { "misspell a literal" } else { "rename one use" };
                    self.add(operator, Verdict::Wrong, &site, token.range.clone(), format!("{}_q", token.text));
                    if seen.contains(&token.text) || site.is("signature.types.*.cases.*.is") {
                        continue;
                    }
                    seen.push(token.text.clone());
                    for section in ["forall", "params"] {
                        let names = self.names_of(section);
                        if let Some(own) = names.iter().position(|name| *name == token.text)
                            && names.len() > 1
                        {
                            let other = names[(own + 1) % names.len()].clone();
                            self.add(
                                "use another name of the section",
                                Verdict::Open,
                                &site,
                                token.range.clone(),
                                other,
                            );
                        }
                    }
                }
            }
        }
        for at in 0..self.uses.len() {
            let found = self.uses[at].clone();
            let Some(site) = self.sites.iter().rev().find(|site| {
                let whole = site.whole();
                whole.start <= found.range.start && found.range.end <= whole.end
            }) else {
                continue;
            };
            let site = site.clone();
            let operator = match found.place {
                UsePlace::Expression => continue,
                UsePlace::RowKey => "rename a row's key",
                UsePlace::Case => "rename a dtype case's key",
                UsePlace::Some => "rename in some",
                UsePlace::Alias => "rename in alias",
                UsePlace::Match => "rename in match",
            };
            self.add(operator, Verdict::Wrong, &site, found.range, format!("{}_q", found.name));
        }
    }

    /// Literals, keywords, operators, guards.
    fn expressions(&mut self) {
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            if !site.is_expression() {
                continue;
            }
            let all = tokens(self.text, site.inner());
            for (position, token) in all.iter().enumerate() {
                let next = all.get(position + 1).map_or("", |t| t.text.as_str());
                match token.kind {
                    TokenKind::Text => {
                        let text = format!("{}_q'", token.text.trim_end_matches('\''));
                        self.add("misspell a literal", Verdict::Wrong, &site, token.range.clone(), text);
                    }
                    TokenKind::Keyword => {
                        let text = format!("{}q", token.text);
                        self.add("misspell a keyword", Verdict::Wrong, &site, token.range.clone(), text);
                    }
                    TokenKind::Callee => {
                        let text = format!("{}_q", token.text);
                        self.add("misspell a built-in", Verdict::Wrong, &site, token.range.clone(), text);
                        if token.text == "present"
                            && let [_, operand, close, ..] = &all[position + 1..]
                        {
                            let whole = token.range.start..close.range.end;
                            let name = operand.text.clone();
                            self.add(
                                "ask a name for its presence by itself",
                                Verdict::Wrong,
                                &site,
                                whole.clone(),
                                name,
                            );
                            self.add("remove a guard", Verdict::Open, &site, whole, "True");
                        }
                    }
                    TokenKind::Field => {
                        let text = format!("{}_q", token.text);
                        self.add("misspell a field", Verdict::Wrong, &site, token.range.clone(), text);
                    }
                    TokenKind::Argument => {
                        let text = format!("{}_q", token.text);
                        self.add("misspell a keyword argument", Verdict::Wrong, &site, token.range.clone(), text);
                    }
                    TokenKind::Number => {
                        self.add(
                            "change a number",
                            Verdict::Open,
                            &site,
                            token.range.clone(),
                            format!("{}7", token.text),
                        );
                        // A refinement compares floats, and a formula may: a float result is what it must not give.
                        let verdict = match site.path[0] == "roofline" || site.path[1] == "shape_rules" {
                            true => Verdict::Open,
                            false => Verdict::Wrong,
                        };
                        self.add("a float for an integer", verdict, &site, token.range.clone(), "1.5");
                    }
                    TokenKind::Operator => match token.text.as_str() {
                        "//" => {
                            self.add(
                                "an operator outside the language",
                                Verdict::Wrong,
                                &site,
                                token.range.clone(),
                                "/",
                            );
                        }
                        "*" if position > 0 && !["[", ",", "(", "*"].contains(&all[position - 1].text.as_str()) => {
                            self.add(
                                "an operator outside the language",
                                Verdict::Wrong,
                                &site,
                                token.range.clone(),
                                "**",
                            );
                            self.add("another operator", Verdict::Open, &site, token.range.clone(), "+");
                        }
                        "==" => {
                            self.add(
                                "an operator outside the language",
                                Verdict::Wrong,
                                &site,
                                token.range.clone(),
                                "=",
                            );
                            self.add("another operator", Verdict::Open, &site, token.range.clone(), "!=");
                        }
                        "<" | "<=" | ">" | ">=" => {
                            let turned = if token.text.starts_with('<') { ">" } else { "<" };
                            self.add("another operator", Verdict::Open, &site, token.range.clone(), turned);
                        }
                        ")" | "]" => {
                            self.add("drop a bracket", Verdict::Wrong, &site, token.range.clone(), "");
                        }
                        "+" | "-" => {
                            let text = format!("{} *", token.text);
                            self.add("drop an operand", Verdict::Wrong, &site, token.range.clone(), text);
                        }
                        _ => {}
                    },
                    TokenKind::Name => {}
                }
                let _ = next;
            }
        }
    }

    /// The axes of shapes, the members of dtypes.
    fn shapes(&mut self) {
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            let is_shape =
                site.is("signature.params|inputs|outputs.*.shape") || site.is("signature.types.*.cases.*.is");
            if site.is_expression() && is_shape {
                let inner = site.inner();
                let shape = &self.text[inner.clone()];
                let family = !shape.starts_with('[');
                let axes = arguments(self.text, inner.clone(), '[');
                if family {
                    for (position, axis) in axes.iter().enumerate() {
                        self.add(
                            "an argument of a family that does not fit",
                            Verdict::Wrong,
                            &site,
                            axis.clone(),
                            "'q'",
                        );
                        let (edit, text) = without(&axes, position);
                        self.add("drop an argument of a family", Verdict::Wrong, &site, edit, text);
                    }
                    for pair in axes.windows(2) {
                        let swapped = self.swapped(&pair[0], &pair[1]);
                        self.add(
                            "swap arguments of a family",
                            Verdict::Open,
                            &site,
                            pair[0].start..pair[1].end,
                            swapped,
                        );
                    }
                    continue;
                }
                for (position, axis) in axes.iter().enumerate() {
                    let text = self.text[axis.clone()].to_owned();
                    let (edit, nothing) = without(&axes, position);
                    self.add("drop an axis", Verdict::Open, &site, edit, nothing);
                    if let Some(name) = text.strip_prefix('*') {
                        if name.chars().all(|c| c.is_ascii_alphanumeric()) {
                            self.add("a splice without its star", Verdict::Wrong, &site, axis.clone(), name);
                        }
                    } else {
                        self.add("an axis one longer", Verdict::Open, &site, axis.clone(), format!("{text} + 1"));
                        self.add(
                            "a splice of what is one axis",
                            Verdict::Wrong,
                            &site,
                            axis.clone(),
                            format!("*({text})"),
                        );
                        self.add("an axis that is a string", Verdict::Wrong, &site, axis.clone(), "'q'");
                    }
                }
                for pair in axes.windows(2) {
                    let swapped = self.swapped(&pair[0], &pair[1]);
                    self.add("swap two axes", Verdict::Open, &site, pair[0].start..pair[1].end, swapped);
                }
                let end = inner.end - 1;
                self.add("an axis more", Verdict::Open, &site, end..end, if axes.is_empty() { "3" } else { ", 3" });
            }
            if site.is("signature.params|inputs|outputs.*.dtype") && site.is_expression() {
                let verdict = |sibling: &str| {
                    let mut path = site.path.clone();
                    path.pop();
                    path.push(sibling.to_owned());
                    if self.sites.iter().any(|s| s.path == path) { Verdict::Wrong } else { Verdict::Open }
                };
                let (metadata, aliased) = (verdict("values"), verdict("alias"));
                let other = if self.scalar(&site) == "float32" { "float64" } else { "float32" };
                let verdict = if aliased == Verdict::Wrong { aliased } else { metadata };
                self.add("another dtype", verdict, &site, site.inner(), other);
                self.add("a dtype that is none", Verdict::Wrong, &site, site.inner(), "half");
                let index = self.names_of("forall").into_iter().next();
                if let Some(index) = index.filter(|_| self.has("signature.forall.M") || self.has("signature.forall.N"))
                {
                    let dim = if self.has("signature.forall.M") { "M".to_owned() } else { "N".to_owned() };
                    let _ = index;
                    self.add("a dtype that is none", Verdict::Wrong, &site, site.inner(), dim);
                }
            }
        }
    }

    fn swapped(&self, a: &Range<usize>, b: &Range<usize>) -> String {
        let (first, between, second) = (&self.text[a.clone()], &self.text[a.end..b.start], &self.text[b.clone()]);
        format!("{second}{between}{first}")
    }

    /// Arguments of calls.
    fn calls(&mut self) {
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            if !site.is_expression() {
                continue;
            }
            let all: Vec<Token> = tokens(self.text, site.inner());
            for (position, token) in all.iter().enumerate() {
                if token.kind != TokenKind::Callee || all.get(position + 1).is_none_or(|t| t.text != "(") {
                    continue;
                }
                let arguments = arguments(self.text, token.range.start..site.inner().end, '(');
                let comprehension = arguments.iter().any(|a| self.text[a.clone()].contains(" for "));
                let variadic = ["max", "min", "broadcast", "sum", "all", "prod", "len", "bytes"];
                if comprehension {
                    continue;
                }
                let generator = site.is("signature.*.*.values|requires") || site.is("signature.*.*.requires.*");
                for (position, argument) in arguments.iter().enumerate() {
                    let text = self.text[argument.clone()].to_owned();
                    let (edit, nothing) = without(&arguments, position);
                    let optional = variadic.contains(&token.text.as_str()) || text.contains('=');
                    let has_default = ["per_axis", "reduced"].contains(&token.text.as_str()) && position >= 2;
                    let verdict = if optional || has_default { Verdict::Open } else { Verdict::Wrong };
                    self.add("drop an argument", verdict, &site, edit, nothing);
                    let value =
                        text.split_once('=').map_or(argument.start, |(name, _)| argument.start + name.len() + 1);
                    self.add("an argument that does not fit", Verdict::Wrong, &site, value..argument.end, "'q'");
                    if generator && !text.contains('\'') {
                        let text = format!("{text} + 1");
                        self.add("an argument one larger", Verdict::Open, &site, argument.clone(), text);
                    }
                }
                for pair in arguments.windows(2) {
                    let swapped = self.swapped(&pair[0], &pair[1]);
                    self.add("swap arguments", Verdict::Open, &site, pair[0].start..pair[1].end, swapped);
                }
                if !variadic.contains(&token.text.as_str())
                    && let Some(last) = arguments.last()
                    && !self.text[last.clone()].contains('=')
                    && !["per_axis", "reduced"].contains(&token.text.as_str())
                {
                    self.add("an argument too many", Verdict::Wrong, &site, last.end..last.end, ", 1, 1, 1");
                }
            }
        }
    }

    /// Kinds of indices and parameters.
    fn kinds(&mut self) {
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            let used = !site.path.is_empty() && !self.uses_of(site.last(), None).is_empty();
            if site.is("signature.forall.*") && used {
                let mut construct = vec![site.whole(), site.parent.clone()];
                construct.extend(self.uses_of(site.last(), None));
                let kind = self.scalar(&site);
                let all = ["Dim", "Shape", "\"DType[float16]\"", "\"Seq[Int]\""];
                let head = |kind: &str| kind.trim_matches('"').chars().take(3).collect::<String>();
                for other in all.into_iter().filter(|other| head(other) != head(&kind)) {
                    // A length and a list of lengths are told apart by their rows at the latest.
                    let edit = span(site.node.range);
                    self.push("another kind of index", Verdict::Wrong, &site, edit, other.into(), construct.clone());
                }
                let inner = site.inner();
                self.add("misspell a kind", Verdict::Wrong, &site, inner.end..inner.end, "q");
                if kind.starts_with("DType[") {
                    let members = inner.start + 6..inner.end - 1;
                    self.add("misspell a kind", Verdict::Wrong, &site, members.end..members.end, "q");
                    let one: Vec<&str> = kind[6..kind.len() - 1].split('|').map(str::trim).collect();
                    if let [first, .., last] = one.as_slice() {
                        let taken = self.sites.iter().any(|s| {
                            (s.is("workloads.*.dtype_cases.*.*") || s.is("signature.dtype_combos.*.*"))
                                && s.last() == site.last()
                                && self.scalar(s) == *last
                        });
                        let verdict = if taken { Verdict::Wrong } else { Verdict::Open };
                        let kept = format!("DType[{}]", one[..one.len() - 1].join(" | "));
                        construct.extend(self.row_ranges());
                        construct.extend(self.sites.iter().filter(|s| s.is("signature.dtype_combos")).map(Site::whole));
                        self.push(
                            "remove a member of a dtype set",
                            verdict,
                            &site,
                            inner.clone(),
                            kept,
                            construct.clone(),
                        );
                        let twice = format!("DType[{first} | {}]", one.join(" | "));
                        self.add("a member twice", Verdict::Wrong, &site, inner.clone(), twice);
                    }
                }
            }
            if site.is("signature.params.*.type") {
                let name = site.path[2].clone();
                let ty = self.scalar(&site);
                let mut construct = vec![site.whole(), site.parent.clone()];
                construct.extend(self.uses_of(&name, None));
                construct.extend(self.row_ranges());
                let stated = self.has(&format!("signature.params.{name}.default"))
                    || self.sites.iter().any(|s| s.is("workloads.*.*") && s.last() == name);
                let edit = span(site.node.range);
                let quoted: Vec<String> = ty.split('\'').skip(1).step_by(2).map(str::to_owned).collect();
                if stated {
                    let other = if ty == "bool" { "int" } else { "bool" };
                    let only_none = ty.contains("None");
                    let verdict = if only_none { Verdict::Open } else { Verdict::Wrong };
                    self.push("another type", verdict, &site, edit.clone(), other.into(), construct.clone());
                }
                if !ty.contains('.') {
                    let end = site.inner().end;
                    self.add("misspell a type", Verdict::Wrong, &site, end..end, "q");
                }
                for literal in &quoted {
                    if quoted.len() < 2 {
                        continue;
                    }
                    let kept: Vec<String> = ty
                        .split('|')
                        .map(str::trim)
                        .filter(|m| *m != format!("'{literal}'"))
                        .map(str::to_owned)
                        .collect();
                    let same = |s: &Site<'_>| self.scalar(s) == *literal;
                    let here = |s: &Site<'_>| s.is("workloads.*.*") && s.last() == name;
                    let default = format!("signature.params.{name}.default");
                    let in_text = self.sites.iter().filter(|s| s.is_expression()).any(|s| {
                        let all = tokens(self.text, s.inner());
                        all.iter().any(|t| t.text == format!("'{literal}'")) && all.iter().any(|t| t.text == name)
                    });
                    let needed = in_text || self.sites.iter().any(|s| (here(s) || s.is(&default)) && same(s));
                    let verdict = if needed { Verdict::Wrong } else { Verdict::Open };
                    let text = format!("\"{}\"", kept.join(" | "));
                    self.push("remove a literal of an enum", verdict, &site, edit.clone(), text, construct.clone());
                }
            }
            if site.is("signature.params.*.default") {
                let mut path = site.path.clone();
                path.pop();
                path.push("type".into());
                let ty = self.sites.iter().find(|s| s.path == path).map(|s| self.scalar(s)).unwrap_or_default();
                let free = ["str", "dict"].iter().any(|open| ty.contains(open));
                if !free {
                    let edit = span(site.node.range);
                    self.add("a default that does not fit", Verdict::Wrong, &site, edit.clone(), "{q: 1}");
                    self.add("a default that does not fit", Verdict::Wrong, &site, edit, "'q'");
                }
            }
        }
    }

    /// Cases of families.
    fn families(&mut self) {
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            if site.is("signature.types.*.cases")
                && let NodeKind::Sequence(items) = &site.node.kind
            {
                for (position, item) in items.iter().enumerate() {
                    let whole = self.family(&site.path[2]);
                    if let Some((edit, text)) = removal(site.node, position, self.text) {
                        self.push("remove a case", Verdict::Wrong, &site, edit, text.into(), vec![whole.clone()]);
                    }
                    let range = span(item.range);
                    let case = &self.text[range.clone()];
                    let column = range.start - self.text[..range.start].rfind('\n').map_or(0, |n| n + 1);
                    let text = format!("{case}\n{}- {case}", " ".repeat(column.saturating_sub(2)));
                    self.push("write a case twice", Verdict::Wrong, &site, range, text, vec![whole]);
                }
            }
            if site.is("signature.types.*.cases.*.when") {
                let edit = span(site.node.range);
                self.add("a pattern that does not fit", Verdict::Wrong, &site, edit, "nothing_like_it");
            }
            if site.is("signature.types.*.params.*") {
                let text = self.scalar(&site);
                let other = if text == "Bool" { "Dim" } else { "Bool" };
                let family = self.family(&site.path[2]);
                let mut construct = vec![family];
                construct.extend(self.applications(&site.path[2]));
                self.push(
                    "another kind of formal",
                    Verdict::Wrong,
                    &site,
                    span(site.node.range),
                    other.into(),
                    construct,
                );
            }
        }
    }

    fn family(&self, name: &str) -> Range<usize> {
        let found = self.sites.iter().find(|s| s.is("signature.types.*") && s.last() == name);
        found.map_or(0..self.text.len(), Site::whole)
    }

    /// Presence and effects.
    fn effects(&mut self) {
        let open = self.names_of("forall").first().cloned().unwrap_or_else(|| "M".into());
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            if site.is("signature.inputs|outputs.*") && site.node.as_scalar().is_none() {
                let range = span(site.node.range);
                if !self.text[range.clone()].starts_with('{') {
                    continue;
                }
                let NodeKind::Mapping(pairs) = &site.node.kind else { continue };
                let has = |key: &str| pairs.iter().any(|pair| pair.key.as_str() == Some(key));
                let end = range.end - 1;
                let mut add = |operator, verdict, text: &str| {
                    self.push(operator, verdict, &site, end..end, format!(", {text}"), vec![site.whole()]);
                };
                if site.path[1] == "inputs" {
                    if !has("mutated") {
                        add("an effect more", Verdict::Wrong, "write_only: true");
                        add("a condition that is none", Verdict::Wrong, &format!("mutated: \"{open} == {open}\""));
                        add("an effect more", Verdict::Open, "mutated: true");
                    }
                    if !has("optional") {
                        add("a condition that is none", Verdict::Wrong, "optional: \"1 + 1\"");
                    }
                    if !has("values") {
                        add("an effect more", Verdict::Wrong, "requires: [\"in_range(0, 1)\"]");
                    }
                    add("a key of another section", Verdict::Wrong, "nullable: true");
                } else {
                    add("a key of another section", Verdict::Wrong, "mutated: true");
                    if !has("alias") {
                        add("an alias of nothing", Verdict::Wrong, "alias: nothing_q");
                        if let Some(input) = self
                            .names_of("inputs")
                            .iter()
                            .find(|input| !self.has(&format!("signature.inputs.{input}.mutated")))
                        {
                            let text = format!("{{alias}}{input}").replace("{alias}", "alias: ");
                            let construct = vec![site.whole()];
                            self.push(
                                "an alias of what no call writes",
                                Verdict::Wrong,
                                &site,
                                end..end,
                                format!(", {text}"),
                                construct,
                            );
                        }
                    }
                    let buffered = self.sites.iter().any(|s| s.is("signature.outputs.*.buffer"));
                    if buffered && !has("buffer") || has("alias") {
                        let construct = vec![site.whole()];
                        self.push("an effect more", Verdict::Wrong, &site, end..end, ", buffer: out".into(), construct);
                    }
                }
            }
            if site.is("signature.inputs.*") && site.node.as_scalar().is_none() {
                let names = self.names_of("inputs");
                let own = names.iter().position(|n| *n == site.path[2]).unwrap_or(0);
                let required = |name: &String| !self.has(&format!("signature.inputs.{name}.optional"));
                let followed = names[own + 1..].iter().any(required);
                let range = span(site.node.range);
                if required(&names[own]) && self.text[range.clone()].starts_with('{') {
                    let verdict = if followed { Verdict::Wrong } else { Verdict::Open };
                    let end = range.end - 1;
                    let construct = vec![site.parent.clone()];
                    self.push("an optional input more", verdict, &site, end..end, ", optional: true".into(), construct);
                }
            }
            if site.is("signature.inputs|outputs.*.optional|mutated|nullable") {
                let edit = span(site.node.range);
                self.add("a condition that is none", Verdict::Wrong, &site, edit.clone(), "\"1 + 1\"");
                self.add("a condition that is none", Verdict::Wrong, &site, edit.clone(), "[]");
                let text = if self.scalar(&site) == "true" { "false" } else { "true" };
                let verdict = if site.last() == "nullable" { Verdict::Wrong } else { Verdict::Open };
                self.add("another condition", verdict, &site, edit, text);
            }
            if site.is("signature.*.*.write_only|contiguous|kw_only") || site.is("signature.*.*.buffer|device") {
                let edit = span(site.node.range);
                self.add("a value that is none of the key's", Verdict::Wrong, &site, edit, "[q]");
            }
        }
    }

    /// The roofline, the composition, refinements, `let`s, `dtype_combos`.
    fn rest(&mut self) {
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            let edit = span(site.node.range);
            if site.is("roofline.flops|bytes") {
                for (operator, text) in [
                    ("a formula that is no integer", "\"True\""),
                    ("a formula that is no integer", "\"'q'\""),
                    ("a formula that is no integer", "\"1.5\""),
                    ("a formula that is no integer", "\"1 < 2\""),
                    ("a formula that is no string", "12"),
                    ("a formula that is no string", "\"\""),
                ] {
                    self.add(operator, Verdict::Wrong, &site, edit.clone(), text);
                }
            }
            if site.is("roofline.func") {
                let end = edit.end;
                self.add("misspell a formula's name", Verdict::Open, &site, end..end, "_q");
            }
            if site.is("status") || site.is("composition.kind") || site.is("family") {
                let end = site.inner().end;
                self.add("misspell a word of the language", Verdict::Wrong, &site, end..end, "q");
            }
            if site.is("composition.stages.*.op") {
                let end = site.inner().end;
                self.add("misspell a stage's op", Verdict::Wrong, &site, end..end, "q");
            }
            if site.is("composition.stages.*.name")
                && let Some(other) =
                    self.sites.iter().find(|s| s.is("composition.stages.*.name") && s.path != site.path)
            {
                let text = self.scalar(other);
                self.push(
                    "name two stages alike",
                    Verdict::Wrong,
                    &site,
                    edit.clone(),
                    text,
                    vec![site.parent.clone()],
                );
            }
            if site.is("signature.shape_rules.*") {
                for text in ["\"1 + 1\"", "\"'q'\"", "12"] {
                    self.add("a refinement that is no condition", Verdict::Wrong, &site, edit.clone(), text);
                }
                let inner = site.inner();
                if site.is_quoted() {
                    let text = format!("not ({})", &self.text[inner.clone()]);
                    let construct = self.row_ranges().into_iter().chain([site.parent.clone()]).collect();
                    self.push("turn a refinement around", Verdict::Wrong, &site, inner, text, construct);
                }
            }
            if site.is("signature.let.*") {
                let text = format!("\"{} + 1\"", site.last());
                self.add("a let that reads itself", Verdict::Wrong, &site, edit.clone(), text);
            }
            if site.is("signature.dtype_combos.*.*") {
                self.add("a dtype outside its set", Verdict::Wrong, &site, edit.clone(), "complex128");
            }
        }
    }

    /// Workload rows.
    fn row_values(&mut self) {
        for at in 0..self.sites.len() {
            let site = self.sites[at].clone();
            let edit = span(site.node.range);
            if site.is("workloads") {
                self.add("no rows", Verdict::Wrong, &site, edit.clone(), "[]");
            }
            if site.is("workloads.*") && self.text[edit.clone()].starts_with('{') {
                let end = edit.end - 1;
                self.add("a key that nothing reads", Verdict::Wrong, &site, end..end, ", zq: 1");
                self.add("some of nothing", Verdict::Open, &site, end..end, ", some: []");
                let row = &self.text[edit.clone()];
                let column = edit.start - self.text[..edit.start].rfind('\n').map_or(0, |n| n + 1);
                let text = format!("{row}\n{}- {row}", " ".repeat(column.saturating_sub(2)));
                self.add("write a row twice", Verdict::Wrong, &site, edit.clone(), text);
                self.add("a row that is none", Verdict::Wrong, &site, edit.clone(), "12");
                // An optional tensor that is there already, a required one.
                if !self.has(&format!("workloads.{}.some", site.last()))
                    && let Some(input) = self.names_of("inputs").first()
                    && !self.has(&format!("signature.inputs.{input}.optional"))
                {
                    let text = format!(", some: [{input}]");
                    self.add("some of what every call passes", Verdict::Wrong, &site, end..end, text);
                }
            }
            if site.is("workloads.*.label") {
                let labels: Vec<String> =
                    self.sites.iter().filter(|s| s.is("workloads.*.label")).map(|s| self.scalar(s)).collect();
                if let Some(other) = labels.iter().find(|label| **label != self.scalar(&site)).cloned() {
                    self.add("the label of another row", Verdict::Open, &site, edit.clone(), other);
                }
                self.add("a label that is none", Verdict::Wrong, &site, edit.clone(), "\"a b\"");
                self.add("a label that is none", Verdict::Wrong, &site, edit.clone(), "\"\"");
                self.add("a label that is none", Verdict::Wrong, &site, edit.clone(), "a-label-that-is-much-too-long");
                self.add("a label that is none", Verdict::Wrong, &site, edit.clone(), "12");
            }
            if site.is("workloads.*.dtype_cases.*.*") {
                self.add("a dtype outside its set", Verdict::Wrong, &site, edit.clone(), "complex128");
                self.add("misspell a literal", Verdict::Wrong, &site, edit.end..edit.end, "q");
            }
            if site.is("workloads.*.dtype_cases.*") {
                let case = &self.text[edit.clone()];
                self.add("a dtype case twice", Verdict::Wrong, &site, edit.clone(), format!("{case}, {case}"));
            }
            if site.is("workloads.*.dtype_cases") {
                self.add("no dtype cases", Verdict::Wrong, &site, edit.clone(), "[]");
            }
            if !site.is("workloads.*.*") || ["some", "dtype_cases", "label"].contains(&site.last()) {
                continue;
            }
            let name = site.last().to_owned();
            let path = format!("signature.params.{name}.type");
            let ty = self.sites.iter().find(|s| s.is(&path)).map(|s| self.scalar(s));
            let free = ty.as_ref().is_some_and(|ty| ["str", "dict"].iter().any(|open| ty.contains(open)));
            if !free {
                self.add("a value of the wrong kind", Verdict::Wrong, &site, edit.clone(), "'q'");
                self.add("a value of the wrong kind", Verdict::Wrong, &site, edit.clone(), "{q: 1}");
                self.add("a value of the wrong kind", Verdict::Wrong, &site, edit.clone(), "2026-01-01");
                let text = if matches!(ty.as_deref(), Some("bool")) { "7" } else { "false" };
                self.add("a value of the wrong kind", Verdict::Wrong, &site, edit.clone(), text);
            }
            let value = site.node.as_scalar().map(|s| s.value.clone());
            if let Some(ScalarValue::Int(n)) = value {
                let dim = ty.is_none();
                let verdict = if dim { Verdict::Wrong } else { Verdict::Open };
                self.add("a negative value", verdict, &site, edit.clone(), "-1");
                self.add("another value", Verdict::Open, &site, edit.clone(), "0");
                self.add("another value", Verdict::Open, &site, edit.clone(), (n + 1).to_string());
                if n != 0 {
                    self.add(
                        "a value that readers read differently",
                        Verdict::Wrong,
                        &site,
                        edit.clone(),
                        format!("0{n}0"),
                    );
                }
                if ty.as_ref().is_none_or(|ty| !ty.contains("float")) {
                    self.add("a value of the wrong kind", Verdict::Wrong, &site, edit.clone(), format!("{n}.5"));
                }
            }
            if let NodeKind::Sequence(items) = &site.node.kind {
                if let Some((edit, text)) = removal(site.node, items.len().saturating_sub(1), self.text) {
                    self.add("a value one shorter", Verdict::Open, &site, edit, text);
                }
                if let Some(first) = items.first() {
                    let edit = span(first.range);
                    self.add("a value of the wrong kind", Verdict::Wrong, &site, edit.clone(), "q");
                    if ty.is_none() {
                        self.add("another value", Verdict::Open, &site, edit, "3");
                    }
                }
            }
            if let NodeKind::Mapping(pairs) = &site.node.kind {
                for pair in pairs {
                    let end = span(pair.key.range).end;
                    self.add("misspell a literal", Verdict::Wrong, &site, end..end, "_q");
                }
            }
            if let Some(ScalarValue::Str) = value
                && !free
            {
                let end = site.inner().end;
                self.add("misspell a literal", Verdict::Wrong, &site, end..end, "q");
            }
        }
    }
}

/// The top-level arguments behind the first `open` of `text[range]`, without blanks around them.
fn arguments(text: &str, range: Range<usize>, open: char) -> Vec<Range<usize>> {
    let source = &text[range.clone()];
    let Some(start) = source.find(open) else { return Vec::new() };
    let (mut depth, mut quoted) = (0_usize, false);
    let mut found = Vec::new();
    let mut from = start + 1;
    for (at, c) in source.char_indices().skip_while(|(at, _)| *at < start) {
        match c {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' => depth += 1,
            ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    found.push(from..at);
                    break;
                }
            }
            ',' if depth == 1 => {
                found.push(from..at);
                from = at + 1;
            }
            _ => {}
        }
    }
    let trim = |part: Range<usize>| {
        let inner = &source[part.clone()];
        let start = part.start + (inner.len() - inner.trim_start().len());
        range.start + start..range.start + start + inner.trim().len()
    };
    found.into_iter().map(trim).filter(|part| !part.is_empty()).collect()
}

/// The edit that takes one of several arguments out.
fn without(arguments: &[Range<usize>], position: usize) -> (Range<usize>, &'static str) {
    let own = arguments[position].clone();
    match (arguments.get(position + 1), position.checked_sub(1)) {
        (Some(next), _) => (own.start..next.start, ""),
        (None, Some(before)) => (arguments[before].end..own.end, ""),
        (None, None) => (own, ""),
    }
}
