"""A model's folder: Spark's metadata, and the one model file that the command reads too."""

import os

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader

FILE = "corpuscle.model"


def _has_jvm(session):
    return hasattr(session, "_jvm") and getattr(session, "_jsparkSession", None) is not None


def _place(path):
    """The file system of a path or address as this process sees it, and the path in it."""
    from pyarrow import fs

    return fs.FileSystem.from_uri(path) if "://" in path else (fs.LocalFileSystem(), os.path.abspath(path))


def write_file(session, path, data):
    """Writes bytes where Spark itself would write; a Connect client writes to its own file system or to an address."""
    if _has_jvm(session):
        hadoop = session._jvm.org.apache.hadoop.fs.Path(path)
        stream = hadoop.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()).create(hadoop, True)
        try:
            for start in range(0, len(data), 1 << 20):
                stream.write(bytearray(data[start : start + (1 << 20)]))
        finally:
            stream.close()
        return
    system, inner = _place(path)
    system.create_dir(os.path.dirname(inner), recursive=True)
    with system.open_output_stream(inner) as stream:
        stream.write(data)


def read_file(session, path):
    """The bytes of a file, by a DataFrame."""
    rows = session.read.format("binaryFile").load(path).select("content").collect()
    if len(rows) != 1:
        raise ValueError(f"{path} is {len(rows)} files, not one")
    return bytes(rows[0][0])


class ParamsWriter(DefaultParamsWriter):
    """Writes what has params alone; over Connect too, where Spark's own writer cannot overwrite."""

    def _handleOverwrite(self, path):
        if _has_jvm(self.sparkSession):
            super()._handleOverwrite(path)
            return
        from pyarrow import fs

        system, inner = _place(path)
        if system.get_file_info(inner).type == fs.FileType.Directory:
            system.delete_dir(inner)


class ModelWriter(ParamsWriter):
    """Writes a fitted model's folder."""

    def saveImpl(self, path):
        more = {"corpuscle": {"labelType": self.instance.labelType}}
        DefaultParamsWriter.saveMetadata(self.instance, path, self.sparkSession, extraMetadata=more)
        write_file(self.sparkSession, os.path.join(path, FILE), self.instance.modelBytes)


class ModelReader(MLReader):
    """Reads a fitted model's folder."""

    def __init__(self, cls):
        super().__init__()
        self.cls = cls

    def load(self, path):
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        data = read_file(self.sparkSession, os.path.join(path, FILE))
        instance = self.cls(data, metadata.get("corpuscle", {}).get("labelType", "string"))
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        return instance
