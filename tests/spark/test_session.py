"""The session: one sentence says what is missing, and settings are restored."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from hopsight.spark import session
from hopsight.spark.session import ending_quietly


def test_without_pyspark_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: None if name == "pyspark" else name)
    with pytest.raises(ValueError, match=r"the Spark engine needs pyspark: pip install 'hopsight\[spark\]'"):
        session.open_session()


def test_without_java_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: name)
    monkeypatch.setattr(session.shutil, "which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ValueError, match="the Spark engine needs Java 17"):
        session.check_requirements()


def test_settings_of_the_user_are_restored(spark: Any) -> None:
    given = {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "7"}
    with session.run_settings(spark):  # restores those of the other tests
        for name, value in given.items():
            spark.conf.set(name, value)
        with session.run_settings(spark):
            assert [spark.conf.get(name) for name in given] == ["false", "4"]
        assert [spark.conf.get(name) for name in given] == ["true", "7"]
    assert [spark.conf.get(name) for name in given] == ["false", "4"]
    assert session.open_session() is spark


def test_an_interrupt_is_the_last_word_whatever_fails_after_it(capfd: pytest.CaptureFixture[str]) -> None:
    def clean_up_after_an_interrupt() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            logging.error("KeyboardInterrupt while sending command.")  # as py4j does
            raise OSError("Java is gone")

    with pytest.raises(KeyboardInterrupt), ending_quietly():
        clean_up_after_an_interrupt()
    with pytest.raises(OSError, match="disk"), ending_quietly():
        raise OSError("disk full")
    assert capfd.readouterr().err == ""
