//! Functions the text needs beyond what the language has.

use crate::emit::dialect::Types;
use crate::emit::writer::Writer;
use crate::ir::{OpId, OpKind};
use crate::types::Scalar;

use super::Msl;

/// Conversions that hold at the ends of the range and give zero for NaN.
const TO_INT: [(Scalar, &str); 4] = [
    (Scalar::I32, "x >= 2147483648.0f ? 2147483647 : x <= -2147483648.0f ? (-2147483647 - 1) : int(x)"),
    (Scalar::U32, "x >= 4294967296.0f ? 4294967295u : x <= 0.0f ? 0u : uint(x)"),
    (Scalar::I8, "char(int(fmin(fmax(x, -128.0f), 127.0f)))"),
    (Scalar::U8, "uchar(int(fmin(fmax(x, 0.0f), 255.0f)))"),
];

pub(super) fn write(out: &mut Writer<'_, Msl>) {
    for (to, expression) in TO_INT {
        let kernel = out.kernel;
        let converts = |(id, kind): (OpId, &OpKind)| match (kind, kernel.ops()[id].results.first()) {
            (OpKind::Cast(a), Some(&r)) => kernel.ty(*a).scalar().is_float() && kernel.ty(r).scalar() == to,
            _ => false,
        };
        if out.said.ops().any(converts) {
            let ty = Msl.scalar(to);
            out.enter(format!("inline {ty} float_to_{ty}(float x)"));
            out.line(format!("return x != x ? {ty}(0) : {expression};"));
            out.close();
            out.line("");
        }
    }
}
