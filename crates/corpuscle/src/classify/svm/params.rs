//! What can be set on a linear SVM.

use serde::{Deserialize, Serialize};

use crate::classify::ClassWeight;
use crate::classify::cost::{about, check_solver};
use crate::params::{Auto, Param, Params};
use crate::{Result, param};

/// What a document on the wrong side of its margin costs; ξ is how far it is on the wrong side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// ξ².
    #[default]
    SquaredHinge,
    /// ξ.
    Hinge,
}

crate::words!(Loss { SquaredHinge = "squared_hinge", Hinge = "hinge" });

/// How more than two classes are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Multiclass {
    /// One problem per class: its documents against all others.
    #[default]
    OneVsRest,
    /// One problem over all classes (Crammer and Singer, 2001): the right class must beat each other by a margin. Its
    /// loss is the hinge whatever [`SvmParams::loss`] says.
    CrammerSinger,
}

crate::words!(Multiclass { OneVsRest = "one_vs_rest", CrammerSinger = "crammer_singer" });

/// Parameters of a linear SVM.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SvmParams {
    /// The price C of an error.
    pub c: Auto<f64>,
    /// What an error costs.
    pub loss: Loss,
    /// How more than two classes are told apart.
    pub multiclass: Multiclass,
    /// The value of a constant feature put beside every document, whose weight makes the bias; 0 for no bias. The
    /// weight is regularised like any other, as in LIBLINEAR.
    pub bias: f32,
    /// How classes of different sizes are weighed.
    pub class_weight: ClassWeight,
    /// Stop when (P − D)/P, the relative distance of the primal objective P from the lower bound D that the dual
    /// gives, is at most this.
    pub tolerance: f64,
    /// Stop after so many passes over the documents in any case.
    pub max_iter: usize,
    /// Whether each class sees terms scaled by their naive Bayes log ratio (Wang and Manning, 2012).
    pub nb: bool,
}

impl Default for SvmParams {
    fn default() -> Self {
        SvmParams {
            c: Auto::Value(1.0),
            loss: Loss::default(),
            multiclass: Multiclass::default(),
            bias: 1.0,
            class_weight: ClassWeight::default(),
            tolerance: 1e-3,
            max_iter: 1000,
            nb: false,
        }
    }
}

impl Params for SvmParams {
    const NAME: &'static str = "svm";
    const ABOUT: &'static str = "linear support vector machine";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("c", c, about::C),
            param!("loss", loss, "what an error costs: the square of how far it is on the wrong side, or that itself"),
            param!("multiclass", multiclass, "a problem for each class, or one for all together"),
            param!("bias", bias, "value of the constant feature, 0 for no bias"),
            param!("class_weight", class_weight, about::CLASS_WEIGHT),
            param!("tolerance", tolerance, about::TOLERANCE),
            param!("max_iter", max_iter, about::MAX_ITER),
            param!("nb", nb, "true: terms are scaled by their naive Bayes log ratio; for binary words and pairs"),
        ]
    }

    fn check(&self) -> Result<()> {
        let good = self.bias >= 0.0 && self.bias.is_finite();
        check_solver(Self::NAME, self.c, self.tolerance, self.max_iter)
            .that(good, "bias", &self.bias, "must be 0 (no bias) or a number above 0")
            .that(!self.nb || self.multiclass == Multiclass::OneVsRest, "nb", &self.nb, "needs multiclass=one_vs_rest")
            .done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_out_of_range_is_named() {
        let bad = [
            ("c", SvmParams { c: Auto::Value(0.0), ..Default::default() }),
            ("bias", SvmParams { bias: -1.0, ..Default::default() }),
            ("tolerance", SvmParams { tolerance: 0.0, ..Default::default() }),
            ("max_iter", SvmParams { max_iter: 0, ..Default::default() }),
        ];
        for (name, params) in bad {
            assert!(params.check().unwrap_err().to_string().starts_with(&format!("svm: {name} = ")), "{name}");
        }
        assert!(SvmParams::default().check().is_ok());
    }

    #[test]
    fn they_survive_json() {
        let params = SvmParams { c: Auto::Auto, multiclass: Multiclass::CrammerSinger, ..Default::default() };
        let text = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<SvmParams>(&text).unwrap(), params);
        assert_eq!(serde_json::from_str::<SvmParams>("{}").unwrap(), SvmParams::default());
        assert!(serde_json::from_str::<SvmParams>("{\"cost\": 1}").is_err());
    }
}
