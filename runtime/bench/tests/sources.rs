//! The benchmark computes no FLOPs and no bytes: its sources say so.
//!
//! A record's `flops`, `bytes`, `read_bytes`, `roof_key` and `data_terms` are named in one function alone, `price::of_call`,
//! which takes an op and asks it. That function has no operator and no number in it, so what it writes is what the op said;
//! and since nothing else names these fields, nothing else can write them, or compute with them.

use std::path::Path;

use syn::visit::{self, Visit};

/// The fields that an op says.
const SAID: [&str; 5] = ["flops", "bytes", "read_bytes", "roof_key", "data_terms"];

/// What a source does that it must not.
#[derive(Default)]
struct Faults {
    /// The function that is being read.
    function: String,
    found: Vec<String>,
}

impl Faults {
    fn of(text: &str) -> Vec<String> {
        let mut faults = Faults::default();
        faults.visit_file(&syn::parse_file(text).expect("a source file is Rust"));
        faults.found
    }

    fn is_said_here(&self) -> bool {
        self.function == "of_call"
    }

    fn field(&mut self, name: &str) {
        if SAID.contains(&name) && !self.is_said_here() {
            self.found.push(format!("`{}` names the field `{name}`", self.function));
        }
    }
}

impl<'ast> Visit<'ast> for Faults {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let outer = std::mem::replace(&mut self.function, item.sig.ident.to_string());
        visit::visit_item_fn(self, item);
        self.function = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let outer = std::mem::replace(&mut self.function, item.sig.ident.to_string());
        visit::visit_impl_item_fn(self, item);
        self.function = outer;
    }

    fn visit_expr_field(&mut self, expr: &'ast syn::ExprField) {
        // Reading the roof's key to choose a tolerance is no arithmetic on a price.
        let is_key = matches!(&expr.member, syn::Member::Named(name) if name == "roof_key");
        // A field of that name of anything but a record is not the record's.
        let of_record = matches!(&*expr.base, syn::Expr::Path(path) if path.path.is_ident("record"));
        if let syn::Member::Named(name) = &expr.member
            && of_record
            && !is_key
        {
            self.field(&name.to_string());
        }
        visit::visit_expr_field(self, expr);
    }

    fn visit_expr_struct(&mut self, expr: &'ast syn::ExprStruct) {
        let is_record = expr.path.segments.last().is_some_and(|segment| segment.ident == "Record");
        for field in expr.fields.iter().filter(|_| is_record) {
            if let syn::Member::Named(name) = &field.member {
                self.field(&name.to_string());
            }
        }
        visit::visit_expr_struct(self, expr);
    }

    fn visit_expr_assign(&mut self, expr: &'ast syn::ExprAssign) {
        // Whatever the record is called: a field of such a name is assigned nowhere else.
        if let syn::Expr::Field(field) = &*expr.left
            && let syn::Member::Named(name) = &field.member
        {
            self.field(&name.to_string());
        }
        visit::visit_expr_assign(self, expr);
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        if self.is_said_here() {
            self.found.push("`of_call` computes".to_owned());
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_lit(&mut self, literal: &'ast syn::Lit) {
        if self.is_said_here() && !matches!(literal, syn::Lit::Str(_)) {
            self.found.push("`of_call` has a number".to_owned());
        }
        visit::visit_lit(self, literal);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let asked = ["eval_roofline", "eval_roofline_read_bytes", "roof_key", "roofline_data_terms"];
        let passed_on = ["transpose", "into", "iter", "map", "collect"];
        let name = call.method.to_string();
        if self.is_said_here() && !asked.contains(&name.as_str()) && !passed_on.contains(&name.as_str()) {
            self.found.push(format!("`of_call` calls `{name}`"));
        }
        visit::visit_expr_method_call(self, call);
    }
}

#[test]
fn prices_come_from_ops_alone() {
    let mut stack = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files = 0;
    let mut faults = Vec::new();
    while let Some(path) = stack.pop() {
        if path.is_dir() {
            stack.extend(std::fs::read_dir(&path).expect("the folder can be listed").flatten().map(|e| e.path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files += 1;
            let text = std::fs::read_to_string(&path).expect("a source file can be read");
            faults.extend(Faults::of(&text).into_iter().map(|fault| format!("{}: {fault}", path.display())));
        }
    }
    assert!(files >= 10, "{files}");
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn a_source_that_computes_a_price_is_found() {
    for bad in [
        "fn f(record: &mut Record, m: u128) { record.flops = Some(2 * m); }",
        "fn f(r: &mut Record) { r.bytes = Some(12); }",
        "fn f() -> Record { Record { read_bytes: Some(1), ..Record::default() } }",
        "fn rate(record: &Record, ns: f64) -> f64 { record.bytes.unwrap_or(0) as f64 / ns }",
        "fn of_call(op: &dyn Op, record: &mut Record) { record.flops = Some(2 * op.eval_roofline().flops); }",
        "fn of_call(op: &dyn Op, record: &mut Record) { record.bytes = Some(op.last_call().bytes()); }",
        "impl X { fn f(&self, record: &mut Record) { record.data_terms = none(); } }",
    ] {
        assert!(!Faults::of(bad).is_empty(), "{bad}");
    }
    for good in [
        "fn of_call(op: &dyn Op, record: &mut Record) { record.flops = Some(op.eval_roofline().flops); }",
        "fn f(memory: &Memory) -> usize { memory.bytes() * 2 }",
    ] {
        assert_eq!(Faults::of(good), Vec::<String>::new(), "{good}");
    }
}
