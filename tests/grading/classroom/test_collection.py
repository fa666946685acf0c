"""Who handed in what: from a folder, from what the shell makes of submissions/*, from archives, from Moodle and Canvas."""
import csv
import io
import json
import os
import zipfile

import pytest

from course_lib.grading.classroom.collection import collect
from course_lib.grading.classroom.roster import read_roster
from tests.grading.sample_submissions import LOGLIK, notebook, save

NOTEBOOK = json.dumps(notebook(LOGLIK)).encode()


def hand_in(folder, *names, content=NOTEBOOK):
    return [save(folder / name, content) for name in names]


def students(paths, root, roster=None):
    """The file of each student, as the class has them."""
    paths = paths if isinstance(paths, list) else [paths]
    return {os.path.relpath(one.path, root): one.student for one in collect(list(map(str, paths)), roster).submissions}


def roster_of(folder, text):
    return read_roster(str(save(folder / "roster.csv", text)))


def zipped(path, *names, content=NOTEBOOK):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(*(name if isinstance(name, tuple) else (name, content)))
    return path


def test_collect_flat_folder(tmp_path):
    hand_in(tmp_path, "ada.ipynb", "bo.IPYNB", ".ipynb_checkpoints/ada-checkpoint.ipynb", ".hidden.ipynb", "__MACOSX/c.ipynb")
    (tmp_path / "notes.txt").write_text("x")
    assert students(tmp_path, tmp_path) == {"ada.ipynb": "ada", "bo.IPYNB": "bo"}
    assert collect([str(tmp_path)]).skipped == [str(tmp_path / "notes.txt")]


def test_collect_same_name_in_two_folders(tmp_path):
    hand_in(tmp_path, "ada/hw.ipynb", "bo/hw.ipynb", "bo/extra/hw.ipynb")
    expected = {"ada/hw.ipynb": "ada", "bo/hw.ipynb": "bo", "bo/extra/hw.ipynb": "bo"}
    assert students(tmp_path, tmp_path) == expected
    assert students([tmp_path / "ada/hw.ipynb", tmp_path / "bo/hw.ipynb"], tmp_path) == {
        "ada/hw.ipynb": "ada", "bo/hw.ipynb": "bo"}


def test_collect_expanded_star(tmp_path):
    hand_in(tmp_path, "ada/17-self-attention.ipynb", "bo/17-self-attention.ipynb", "bo/more/18-positions.ipynb", "cy.ipynb")
    zipped(tmp_path / "di.zip", "17-self-attention.ipynb")
    star = sorted(tmp_path.iterdir())
    assert students(star, tmp_path) == students(tmp_path, tmp_path) == {
        "ada/17-self-attention.ipynb": "ada", "bo/17-self-attention.ipynb": "bo", "bo/more/18-positions.ipynb": "bo",
        "cy.ipynb": "cy", "di.zip/17-self-attention.ipynb": "di"}


def test_collect_folder_of_one_student(tmp_path):
    hand_in(tmp_path, "ada/17-self-attention.ipynb", "bo/13_mueller.ipynb")
    assert students(tmp_path / "ada", tmp_path) == {"ada/17-self-attention.ipynb": "ada"}
    assert students(tmp_path / "bo", tmp_path) == {"bo/13_mueller.ipynb": "13_mueller"}


def test_collect_class_in_subfolder_is_error(tmp_path):
    hand_in(tmp_path, "class/ada/hw.ipynb", "class/bo/hw.ipynb")
    with pytest.raises(ValueError, match="lie in one folder of it, class") as problem:
        collect([str(tmp_path)])
    assert str(tmp_path / "class") in str(problem.value)
    assert students(tmp_path, tmp_path, roster_of(tmp_path / "x", "ada\nbo\n")) == {
        "class/ada/hw.ipynb": "ada", "class/bo/hw.ipynb": "bo"}


def test_collect_empty_folder_is_student(tmp_path):
    hand_in(tmp_path, "ada/hw.ipynb", "ada/data.csv")
    save(tmp_path / "bo/essay.pdf", "x")
    (tmp_path / "cy").mkdir()
    assert students(tmp_path, tmp_path) == {"ada/hw.ipynb": "ada", "bo": "bo", "cy": "cy"}
    assert students(sorted(tmp_path.iterdir()), tmp_path) == students(tmp_path, tmp_path)
    zipped(tmp_path / "eve.zip", "hw.ipynb")
    assert students(tmp_path, tmp_path) == {"ada/hw.ipynb": "ada", "bo": "bo", "cy": "cy", "eve.zip/hw.ipynb": "eve"}
    (tmp_path / "eve.zip").unlink()
    hand_in(tmp_path, "di.ipynb")
    assert students(tmp_path, tmp_path) == {"ada/hw.ipynb": "ada", "di.ipynb": "di"}      # bo is a folder of data, perhaps


def test_collect_does_not_follow_links(tmp_path):
    [path] = hand_in(tmp_path, "class/ada.ipynb")
    hand_in(tmp_path, "else/where.ipynb")
    zipped(tmp_path / "else/all.zip", "x.ipynb")
    os.symlink(path, tmp_path / "class/bo.ipynb")
    os.symlink(tmp_path / "else", tmp_path / "class/cy")
    os.symlink(tmp_path / "else/all.zip", tmp_path / "class/di.zip")
    assert students(tmp_path / "class", tmp_path / "class") == {"ada.ipynb": "ada", "bo.ipynb": "bo", "di.zip": "di"}
    os.symlink(tmp_path / "class", tmp_path / "way")               # the instructor's own
    assert "way/ada.ipynb" in students(tmp_path / "way", tmp_path)


@pytest.mark.parametrize("names, words", [
    (("x\ny/hw.ipynb", "x y/hw.ipynb"), "called the same but for blanks"), (("andr\u00e9/hw.ipynb", "andre\u0301/hw.ipynb"), "accent"),
    (("essay.txt",), "no notebook in"), ((), "there is no .*class")])
def test_collect_refuses(tmp_path, names, words):
    hand_in(tmp_path / "class", *names)
    with pytest.raises(ValueError, match=words):
        collect([str(tmp_path / "class")])


# archives

def test_collect_archive(tmp_path):
    path = zipped(tmp_path / "class.zip", "ada/hw.ipynb", "bo/hw.ipynb", "__MACOSX/ada/._hw.ipynb", "bo/.ipynb_checkpoints/hw.ipynb")
    assert students(path, path) == {"ada/hw.ipynb": "ada", "bo/hw.ipynb": "bo"}


def test_collect_archive_with_top_folder(tmp_path):
    path = zipped(tmp_path / "class.zip", "class/ada/hw.ipynb", "class/bo/hw.ipynb", ("class/cy/essay.pdf", b"x"))
    assert students(path, path) == {"class/ada/hw.ipynb": "ada", "class/bo/hw.ipynb": "bo", "class/cy": "cy"}
    path = zipped(tmp_path / "download.zip", "class/ada/hw.ipynb", "class/bo/hw.ipynb")
    with pytest.raises(ValueError, match="name it") as problem:
        collect([str(path)])
    assert str(path / "class") in str(problem.value)
    assert students(path / "class", path / "class") == {"ada/hw.ipynb": "ada", "bo/hw.ipynb": "bo"}


def test_collect_archive_of_student(tmp_path):
    zipped(tmp_path / "class/ada.zip", "bo/hw.ipynb", "cy.ipynb", ("deep.py", b"x = 1"))
    zipped(tmp_path / "class/bo/hw.zip", "hw.ipynb")
    hand_in(tmp_path, "class/cy/hw.ipynb")
    names = roster_of(tmp_path, "ada\nbo\ncy\n")
    expected = {"ada.zip/bo/hw.ipynb": "ada", "ada.zip/cy.ipynb": "ada", "ada.zip/deep.py": "ada", "bo/hw.zip/hw.ipynb": "bo",
                "cy/hw.ipynb": "cy"}
    assert students(tmp_path / "class", tmp_path / "class") == expected
    assert students(tmp_path / "class", tmp_path / "class", names) == expected


def test_collect_nested_archive(tmp_path):
    inner = zipped(tmp_path / "hw.zip", "hw.ipynb").read_bytes()
    path = zipped(tmp_path / "class.zip", ("ada/hw.zip", inner), "bo/hw.ipynb")
    assert students(path, path) == {"ada/hw.zip/hw.ipynb": "ada", "bo/hw.ipynb": "bo"}


@pytest.mark.parametrize("content", [b"no archive", b"", zipfile.ZIP_DEFLATED])
def test_collect_empty_archive_of_student(tmp_path, content):
    hand_in(tmp_path, "bo/hw.ipynb")
    if content == zipfile.ZIP_DEFLATED:
        zipped(tmp_path / "ada.zip", ("essay.txt", b"x"))
    else:
        save(tmp_path / "ada.zip", content)
    assert students(tmp_path, tmp_path) == {"ada.zip": "ada", "bo/hw.ipynb": "bo"}


def test_collect_broken_archive_is_error(tmp_path):
    with pytest.raises(ValueError, match="class.zip: The archive cannot be read"):
        collect([str(save(tmp_path / "class.zip", b"PK\x03\x04" + b"x" * 50))])


# what Moodle and Canvas hand out

MOODLE = "First name,Surname,ID number,Email address,Groups\nMo,Lee,77,mo@uni.org,A\nMo,Lee,78,mo.lee@uni.org,B\n" \
         "Zoë,de la Cruz,79,zoe@uni.org,A\n"
SHEET = "Identifier,Full name,Email address,Status,Grade\nParticipant 501,Mo Lee,mo@uni.org,,\n" \
        "Participant 502,Mo Lee,mo.lee@uni.org,,\nParticipant 503,Zoë de la Cruz,zoe@uni.org,,\n"
CANVAS = 'Student,ID,SIS User ID,SIS Login ID,Section,hw (123)\n"    Points Possible",,,,,10\n"Lee, Mo",7001,u1,mlee,S1,\n' \
         '"de la Cruz, Zoë",7002,u2,zcruz,S1,\n"O\'Neil, Bo-Ann",7003,u3,boann,S1,\n'


def test_collect_moodle_folders(tmp_path):
    hand_in(tmp_path, "Mo Lee_501_assignsubmission_file_/hw.ipynb", "Zoë de la Cruz_503_assignsubmission_file_/13.ipynb",
            "Ann_B_504_assignsubmission_file/hw.ipynb")
    save(tmp_path / "Mo Lee_501_assignsubmission_onlinetext_/onlinetext.html", "x")
    save(tmp_path / "Bo_505_assignsubmission_file_/essay.pdf", "x")
    assert sorted(students(tmp_path, tmp_path).values()) == ["Ann_B", "Bo", "Mo Lee", "Zoë de la Cruz"]
    assert sorted(students(sorted(tmp_path.iterdir()), tmp_path).values()) == ["Ann_B", "Bo", "Mo Lee", "Zoë de la Cruz"]


def test_collect_moodle_name_is_the_first(tmp_path):
    """What stands behind it is the student's own file name."""
    hand_in(tmp_path, "Mallory M_12_assignsubmission_file_Ada Lovelace_11_assignsubmission_file_hw.ipynb",
            "Bo_13_assignsubmission_file_hw.ipynb")
    roster = roster_of(tmp_path, "Mallory M\nAda Lovelace\nBo\n")
    assert sorted({item.student for item in collect([str(path) for path in tmp_path.glob("*.ipynb")], roster).submissions}) == ["Bo", "Mallory M"]


def test_collect_moodle_same_names(tmp_path):
    hand_in(tmp_path, "Mo Lee_501_assignsubmission_file_/hw.ipynb", "Mo Lee_502_assignsubmission_file_/hw.ipynb")
    assert sorted(students(tmp_path, tmp_path).values()) == ["Mo Lee (501)", "Mo Lee (502)"]
    assert set(students(tmp_path, tmp_path, roster_of(tmp_path / "r", SHEET)).values()) == {
        "Mo Lee (mo@uni.org)", "Mo Lee (mo.lee@uni.org)"}
    with pytest.raises(ValueError, match="Mo Lee may be Mo Lee .* or Mo Lee"):
        collect([str(tmp_path)], roster_of(tmp_path / "r", MOODLE))


def test_collect_canvas_files(tmp_path):
    """By the number of the student, which has to be on the roster: other names look alike."""
    hand_in(tmp_path, "leemo_7001_90001_13-self-attention.ipynb", "leemo_7001_90001_hw (1).ipynb", "delacruzzoë_LATE_7002_90002_hw-1.ipynb")
    zipped(tmp_path / "x_7003_90005_hw.zip", "hw.ipynb")
    assert len(set(students(tmp_path, tmp_path).values())) == 4
    assert set(students(tmp_path, tmp_path, roster_of(tmp_path / "r", CANVAS)).values()) == {"Lee, Mo", "de la Cruz, Zoë", "O'Neil, Bo-Ann"}


def test_roster_contradiction_is_error(tmp_path):
    hand_in(tmp_path, "Zoë de la Cruz_501_assignsubmission_file_/hw.ipynb")
    with pytest.raises(ValueError, match="Zoë de la Cruz by name and Mo Lee .* by number"):
        collect([str(tmp_path)], roster_of(tmp_path / "r", SHEET))


# rosters

GERMAN = 'ID,"Vollständiger Name",E-Mail-Adresse,Status,Bewertung,Bestwertung,"Bewertung kann geändert werden","Feedback als Kommentar"\n' \
         'Teilnehmer/in501,"Mo Lee",mo@uni.org,"Zur Bewertung abgegeben",,"100,00",Ja,\n' \
         'Teilnehmer/in502,"Zoë de la Cruz",zoe@uni.org,-,,"100,00",Ja,\n'
FRENCH = 'Identifiant,"Nom complet","Adresse de courriel",Statut,Note,"Note maximale"\nParticipant501,"Mo Lee",mo@uni.org,,,20\n' \
         'Participant502,"Zoë de la Cruz",zoe@uni.org,,,20\n'
SPANISH = 'Identificador,"Nombre completo","Dirección de correo",Estado,Calificación,"Calificación máxima"\n' \
          'Participante 501,"Mo Lee",mo@uni.org,,,10\nParticipante 502,"Zoë de la Cruz",zoe@uni.org,,,10\n'


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("table", [GERMAN, FRENCH, SPANISH])
def test_collect_by_gradebook_in_other_languages(tmp_path, table, separator):
    hand_in(tmp_path, "Teilnehmer_501_assignsubmission_file_/hw.ipynb", "Zoë de la Cruz_502_assignsubmission_file_/hw.ipynb")
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows(csv.reader(io.StringIO(table)))
    assert set(students(tmp_path, tmp_path, roster_of(tmp_path / "r", text.getvalue())).values()) == {"Mo Lee", "Zoë de la Cruz"}


def test_collect_with_roster(tmp_path):
    hand_in(tmp_path, "mo_lee_03.ipynb", "x/ADA/hw.ipynb", "stranger.ipynb", "mo.ipynb")
    found = students(tmp_path, tmp_path, roster_of(tmp_path / "r", "mo_lee\nada\nmo\n"))
    assert found == {"mo_lee_03.ipynb": "mo_lee", "x/ADA/hw.ipynb": "ada", "stranger.ipynb": "stranger", "mo.ipynb": "mo"}


def test_collect_reports_prefix_match(tmp_path):
    hand_in(tmp_path, "mo_lee.ipynb", "ada_13.ipynb", "ada/hw_1.ipynb", "zoe_1.ipynb")
    found = collect([str(tmp_path)], roster_of(tmp_path / "r", "mo\nada\n"))
    assert [(os.path.basename(one.path), one.student) for one in found.by_prefix] == [
        ("ada_13.ipynb", "ada"), ("mo_lee.ipynb", "mo")]
    assert collect([str(tmp_path)]).by_prefix == []


@pytest.mark.parametrize("folder", ["77", "MO@uni.org", "mo", "zoe@uni.org"])
def test_collect_matches_any_column(tmp_path, folder):
    hand_in(tmp_path, f"{folder}/hw.ipynb")
    [name] = students(tmp_path, tmp_path, roster_of(tmp_path / "r", MOODLE)).values()
    assert name.startswith("Zoë" if folder.startswith("zoe") else "Mo Lee (")


def test_collect_other_roster_is_error(tmp_path):
    hand_in(tmp_path, "ada/hw.ipynb", "bo/hw.ipynb")
    with pytest.raises(ValueError, match="no notebook belongs to a student of the roster: it names cy, and .* is of ada"):
        collect([str(tmp_path)], roster_of(tmp_path / "r", "cy\ndi\n"))


@pytest.mark.parametrize("text, expected", [
    ("ada\nbo\n\n", ["ada", "bo"]), ("Name,Student,Group\nAda L.,ada,1\nBo,bo,2\n", ["ada", "bo"]), ("\ufeffstudent\nada\n", ["ada"]), ("SID\n7\n", ["7"]),
    ("First name;Last name;Email address\nMo;Lee;m@x\n", ["Mo Lee"]), ("Username\tName\nmlee\tMo\n", ["mlee"]), ("Nachname;Vorname\nada;\nbo;\n", ["ada", "bo"]),
    (CANVAS, ["Lee, Mo", "de la Cruz, Zoë", "O'Neil, Bo-Ann"]), (MOODLE, ["Mo Lee (mo@uni.org)", "Mo Lee (mo.lee@uni.org)", "Zoë de la Cruz"])])
def test_read_roster(tmp_path, text, expected):
    assert roster_of(tmp_path, text).students == expected


@pytest.mark.parametrize("text, words", [
    ("", "names no student"), ("student\n", "names no student"), ("ada\nbo\nada\n", "names ada more than once"),
    ("Vorname,Kurs\nada,1\n", "several columns.*Kurs"), ("Etunimi;Kurssi\nada;1\n", "several columns.*Kurssi"),
    ("student,email\nada,a@x\nada,a@x\n", "names ada more than once"), ("Zoë\n".encode("latin-1"), "save it as CSV in UTF-8")])
def test_read_roster_refuses_others(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        roster_of(tmp_path, text)
