"""An MLflow flavour: a text classifier saved as its one checked file, loaded without running code out of it.

>>> import corpuscle.mlflow                                    # doctest: +SKIP
>>> corpuscle.mlflow.log_model(model, name="tickets")          # doctest: +SKIP
>>> mlflow.pyfunc.load_model(uri).predict(["a new ticket"])    # doctest: +SKIP
"""

import pathlib

FILE = "corpuscle.model"


def save_model(model, path, mlflow_model=None):
    """Saves a fitted :class:`corpuscle.TextClassifier` in MLflow's layout."""
    import mlflow.models
    import mlflow.pyfunc

    import corpuscle

    folder = pathlib.Path(path)
    folder.mkdir(parents=True)
    model.save(folder / FILE)
    mlflow_model = mlflow_model or mlflow.models.Model()
    mlflow.pyfunc.add_to_model(mlflow_model, loader_module="corpuscle.mlflow", data=FILE)
    mlflow_model.add_flavor("corpuscle", data=FILE, version=corpuscle.__version__, recipe=model.recipe_)
    mlflow_model.save(str(folder / "MLmodel"))
    (folder / "requirements.txt").write_text(f"mlflow\ncorpuscle=={corpuscle.__version__}\n", encoding="utf-8")


def log_model(model, name="model", **more):
    """Logs a fitted :class:`corpuscle.TextClassifier` with the run under way."""
    import sys

    import mlflow.models

    return mlflow.models.Model.log(artifact_path=None, name=name, flavor=sys.modules[__name__], model=model, **more)


def load_model(path):
    """The :class:`corpuscle.TextClassifier` of a folder in MLflow's layout."""
    from corpuscle import TextClassifier

    return TextClassifier.load(pathlib.Path(path) / FILE)


class _Pyfunc:
    def __init__(self, classifier):
        self.classifier = classifier

    def predict(self, model_input, params=None):
        """The labels of texts: a column, a list, or a frame of one column."""
        return self.classifier.predict(model_input)


def _load_pyfunc(path):
    """What ``mlflow.pyfunc`` calls; `path` is the file or the folder it is in."""
    from corpuscle import TextClassifier

    file = pathlib.Path(path)
    return _Pyfunc(TextClassifier.load(file / FILE if file.is_dir() else file))
