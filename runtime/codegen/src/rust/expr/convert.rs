//! What a place takes of an expression whose type is another.

use tileops_analyzer::expr::{Expr, ExprKind, Level};
use tileops_analyzer::lang::DType;

use super::super::stmt::call;
use super::code::strip_reference;
use super::{Code, Form, Printed, Printer, Ty, dtype_path};
use crate::layout::{Doc, flat};

impl Printer<'_> {
    pub(crate) fn number(&self, expr: &Expr) -> Printed {
        let code = self.expr(expr)?;
        self.number_of(code)
    }

    /// What a method of a value gives that has several types.
    pub(super) fn of_value(&self, code: Code, method: &str, ty: Ty) -> Code {
        self.defined("value", strip_reference(code).method(method, Vec::new(), Ty::Bool).doc, ty)
    }

    pub(super) fn number_of(&self, code: Code) -> Printed {
        match code.ty.clone() {
            Ty::Plain | Ty::Int => Ok(code),
            Ty::Bool => Ok(Code::new(call("i128::from(", vec![code.doc], ")"), Level::Primary, Ty::Plain)),
            Ty::Value => Ok(self.of_value(code, "as_int", Ty::Plain)),
            Ty::Opt(inner) => {
                let inner = self.given(code, *inner)?;
                self.number_of(inner)
            }
            _ => Err(format!("`{}` is no integer in Rust", flat(&code.doc))),
        }
    }

    pub(crate) fn boolean(&self, expr: &Expr) -> Printed {
        let code = self.expr(expr)?;
        match code.ty.clone() {
            Ty::Bool => Ok(code),
            Ty::Value => Ok(self.of_value(code, "as_bool", Ty::Bool)),
            Ty::Opt(inner) if *inner == Ty::Bool => self.given(code, Ty::Bool),
            _ => Err(format!("`{}` is no Boolean in Rust", flat(&code.doc))),
        }
    }

    pub(super) fn float_of(&self, code: Code) -> Printed {
        match code.ty.clone() {
            Ty::Float => Ok(code),
            Ty::Plain if flat(&code.doc).chars().all(|c| c.is_ascii_digit() || c == '-') => {
                Ok(Code::text(format!("{}.0", flat(&code.doc)), code.level, Ty::Float))
            }
            Ty::Plain | Ty::Int => {
                let code = self.plain(code);
                // A cast's `<` would open generics.
                let docs = vec![Doc::text("("), code.at(Level::Unary), Doc::text(" as f64)")];
                Ok(Code::new(Doc::Cat(docs), Level::Primary, Ty::Float))
            }
            Ty::Value => Ok(self.of_value(code, "as_float", Ty::Float)),
            Ty::Opt(inner) => {
                let inner = self.given(code, *inner)?;
                self.float_of(inner)
            }
            _ => Err(format!("`{}` is no number in Rust", flat(&code.doc))),
        }
    }

    pub(super) fn text(&self, expr: &Expr) -> Printed {
        let code = self.expr(expr)?;
        match code.ty {
            Ty::Str => Ok(code),
            Ty::Value => Ok(self.of_value(code, "as_str", Ty::Str)),
            _ => Err(format!("`{}` is no string in Rust", flat(&code.doc))),
        }
    }

    pub(crate) fn dtype(&self, expr: &Expr) -> Printed {
        if let ExprKind::Str(text) = &expr.kind
            && let Some(dtype) = DType::from_name(text)
        {
            return Ok(Code::text(dtype_path(dtype), Level::Primary, Ty::DType));
        }
        let code = self.expr(expr)?;
        self.dtype_of(code)
    }

    pub(super) fn dtype_of(&self, code: Code) -> Printed {
        match code.ty {
            Ty::DType => Ok(code),
            Ty::Value => Ok(self.of_value(code, "as_dtype", Ty::DType)),
            _ => Err(format!("`{}` is no dtype in Rust", flat(&code.doc))),
        }
    }

    /// A sequence as `&[i128]`.
    pub(crate) fn slice_of(&self, code: Code) -> Result<Doc, String> {
        match code.ty.clone() {
            Ty::Ints(Form::Ref) => Ok(code.doc),
            Ty::Ints(_) => Ok(Doc::Cat(vec![Doc::text("&"), code.at(Level::Unary)])),
            Ty::Value => {
                let ints = self.of_value(code, "as_ints", Ty::Ints(Form::Place));
                self.slice_of(ints)
            }
            Ty::Opt(inner) => {
                let inner = self.given(code, *inner)?;
                self.slice_of(inner)
            }
            _ => Err(format!("`{}` is no sequence of integers in Rust", flat(&code.doc))),
        }
    }

    /// A sequence as `Vec<i128>`.
    pub(crate) fn vec_of(&self, code: Code) -> Result<Doc, String> {
        match code.ty.clone() {
            Ty::Ints(Form::Place) => Ok(code.method("clone", Vec::new(), Ty::Bool).doc),
            Ty::Ints(Form::Ref) => Ok(code.method("to_vec", Vec::new(), Ty::Bool).doc),
            Ty::Ints(Form::Temporary) => Ok(code.doc),
            Ty::Ints(Form::Array) => Ok(Doc::Cat(vec![Doc::text("vec!"), code.doc])),
            _ => {
                let slice = self.slice_of(code)?;
                Ok(Doc::Cat(vec![slice, Doc::text(".to_vec()")]))
            }
        }
    }

    /// An expression as `&Value`.
    pub(super) fn value(&self, expr: &Expr) -> Printed {
        let code = self.expr(expr)?;
        self.value_of(code)
    }

    pub(super) fn value_of(&self, code: Code) -> Printed {
        if code.ty == Ty::Value {
            return Ok(code);
        }
        let doc = Doc::Cat(vec![Doc::text("&"), self.owned_value(code)?]);
        Ok(Code::new(doc, Level::Unary, Ty::Value))
    }

    pub(super) fn owned_value(&self, code: Code) -> Result<Doc, String> {
        let inner = match code.ty.clone() {
            Ty::Value => {
                let text = flat(&code.doc);
                return Ok(match text.strip_prefix('&') {
                    Some(owned) => Doc::text(owned),
                    None => Doc::Cat(vec![code.doc, Doc::text(".clone()")]),
                });
            }
            Ty::Plain | Ty::Int => self.plain(code).doc,
            Ty::Ints(Form::Array) => code.doc,
            Ty::Ints(_) => self.slice_of(code)?,
            Ty::Variant => Doc::Cat(vec![code.doc, Doc::text(".clone()")]),
            _ => code.doc,
        };
        Ok(Doc::Cat(vec![Doc::text("Value::from("), inner, Doc::text(")")]))
    }

    /// A value as an expression of a type is.
    pub(super) fn alike(&self, code: Code, ty: &Ty) -> Printed {
        Ok(match ty {
            Ty::Plain | Ty::Int => self.of_value(code, "as_int", Ty::Plain),
            Ty::Bool => self.of_value(code, "as_bool", Ty::Bool),
            Ty::Float => self.of_value(code, "as_float", Ty::Float),
            Ty::Str => self.of_value(code, "as_str", Ty::Str),
            Ty::DType => self.of_value(code, "as_dtype", Ty::DType),
            Ty::Ints(_) => self.of_value(code, "as_ints", Ty::Ints(Form::Place)),
            Ty::Variant | Ty::Value | Ty::Opt(_) => code,
        })
    }
}
