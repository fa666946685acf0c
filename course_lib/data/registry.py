"""The one table of data sets: files, addresses, hashes, licences, citations, protocols.

Every file has a published or regenerated hash; one without cannot be entered, so it cannot be loaded.
Where COURSE_DATA may hold a re-packed file instead of the originals, that file has its own row and hash.
"""

from __future__ import annotations

import difflib
from dataclasses import replace

from course_lib.data.entry import Entry, File


def _mirrored(folder: str, homes: tuple[str, ...], rows: dict[str, tuple[int, str]], **more) -> tuple[File, ...]:
    """Files of one folder that lie under the same homes: rows maps a file's name to its size and sha256."""
    return tuple(
        File(f"{folder}/{name}", size, f"sha256:{sha}", tuple(home + name for home in homes), **more)
        for name, (size, sha) in rows.items()
    )


MNIST = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
FASHION = (
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
)
LAROCHELLE = ("http://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/",)
MARLIN = "https://people.cs.umass.edu/~marlin/data/"
GITHUB = "https://raw.githubusercontent.com/"
DENSITY = (
    GITHUB + "UCLA-StarAI/Density-Estimation-Datasets/master/datasets/",
    GITHUB + "arranger1044/DEBD/master/datasets/",
)
THREE_BENCHMARKS = (
    "Fixed binarisation, binarisation anew at each epoch and thresholding are three benchmarks: never compare across."
)

CONVNETJS = tuple(f"{home}/39afa8cd5e4cfb5771dc8a1f51bc56aa080f0b51/demo/cifar10/" for home in (  # gone since then
    GITHUB + "karpathy/convnetjs", "https://github.com/karpathy/convnetjs/raw"))
CIFAR10 = _mirrored("cifar10_small", CONVNETJS, {                    # a thousand training images each, in their order
    "cifar10_batch_0.png": (2318456, "0614720d69293a033786d5fe2924c4e9a9b48874f19ca4627c4662a864ee9f2d"),
    "cifar10_batch_1.png": (2326379, "2927e26ea68602e34a7424826b76b7336ce36b8f6bcc2e9fce0c05568ff6b4c1"),
    "cifar10_batch_2.png": (2312906, "0b2759e307bb405bb1a6531f8a0f557eaec46d7546050612fdb836f0fa60eae0"),
    "cifar10_batch_3.png": (2328590, "a4530ff15c83886058a97c352f53f38be07d191de8f410e998e91786b5900a26")})

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
TEN_FOLDS = (
    "The ten folds of one fixed random order: fold k tests, the next one validates, the other eight train; report the "
    "mean over the ten. Columns are standardised with the mean and standard deviation of train, in info, and densities "
    "are in these units: the Jacobian of the scaling is not included. standardize=False gives the values of the file. "
    "Rows repeat and values are rounded, so the likelihood of a mixture is unbounded: bound sigma. "
)


def _uci(name: str, title: str, folder: str, file: File, rows: int, columns: int, kept: str, *, citation: str, key: str,
         licence: str = "CC BY 4.0 (UCI)") -> Entry:
    """A table of numbers on which RNADE was measured; `kept` says which of its columns, and why."""
    shape = f"float64, {rows} rows of {columns} in three parts; standardised"
    public = File(f"uci/{file.path}", file.size, file.hash, (f"{UCI}{folder}/{file.path}",), file.known_from)
    return Entry(name, title, shape, TEN_FOLDS + kept, licence, citation, key, (public,),
                 options={"fold": tuple(range(10)), "standardize": (True, False)})


_ENTRIES = (
    Entry(
        name="digits",
        title="8 x 8 handwritten digits, bundled with scikit-learn: the default images",
        shape="uint8 (1000, 64) / (350, 64) / (447, 64), 0 or 1, with labels",
        protocol="A pixel is 1 where its grey level, 0 to 16, is 8 or more; grey=True gives the levels. "
        'split="shuffled", the default, cuts one fixed permutation of the 1,797 images; independent pixels give 25.38 '
        'nats on test. split="writers" cuts the file\'s own order, as an example of a shift: 13 people wrote the digits, '
        "and images that stand together are alike, most likely of one hand; the file names no writer. There independent "
        "pixels give 26.24 nats on valid and 24.91 on test.",
        licence="CC BY 4.0 (UCI); shipped with scikit-learn",
        citation="Alpaydin and Kaynak 1998, Optical Recognition of Handwritten Digits, UCI, doi:10.24432/C50P49",
        key="alpaydin1998digits",
        options={"split": ("shuffled", "writers"), "grey": (False, True)},
    ),
    Entry(
        name="mnist",
        title="MNIST, grey levels",
        shape="uint8 (50000, 784) / (10000, 784) / (10000, 784), 0 to 255, with labels",
        protocol="Training images 0 to 49,999 train, 50,000 to 59,999 validate; the official test images test. "
        "Binarise with binarize(). " + THREE_BENCHMARKS,
        licence="none stated by the source; commonly given as CC BY-SA 3.0",
        citation="LeCun, Bottou, Bengio and Haffner 1998, Gradient-based learning applied to document recognition",
        key="lecun1998",
        files=_mirrored("mnist", MNIST, {
            "train-images-idx3-ubyte.gz": (
                9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
            "train-labels-idx1-ubyte.gz": (
                28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
            "t10k-images-idx3-ubyte.gz": (
                1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
            "t10k-labels-idx1-ubyte.gz": (
                4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
        }),
    ),
    Entry(
        name="binarized_mnist",
        title="MNIST binarised once and for all",
        shape="uint8 (50000, 784) / (10000, 784) / (10000, 784), 0 or 1",
        protocol="The fixed files of Larochelle: each pixel was drawn once with its grey level as probability. Report "
        "mean nats over all 10,000 test images, the model chosen on valid. The test rows are sorted by digit: never "
        "take the first few as a sample. " + THREE_BENCHMARKS,
        licence="none stated (derived from MNIST)",
        citation="Larochelle and Murray 2011, The neural autoregressive distribution estimator; binarised by "
        "Salakhutdinov and Murray 2008, On the quantitative analysis of deep belief networks",
        key="larochelle2011",
        files=_mirrored("binarized_mnist", LAROCHELLE, {
            "binarized_mnist_train.amat": (
                78400000, "ad693b29f94c14277b095f5238ddefbbdaaae0939789dd2f4f0205278cee3e4d"),
            "binarized_mnist_valid.amat": (
                15680000, "1de3d397c40fe8eeb33dafd4099a1f665ec01e96d9be234aaeeac8a34930e2e2"),
            "binarized_mnist_test.amat": (
                15680000, "e6687bfea3f820c174f33b7865140b2a2dd2930ef786f35d45795fc193b5ab2c"),
        }, known_from="published in tensorflow/datasets; the text regenerated from the re-packed arrays has the same"),
        packed=(File("binarized_mnist/binarized_mnist.npz", 2563365,
                     "sha256:db6484c50f221eed0301d15cf2dcf0648b3fbb0c6fb48827daa8dded284bb3b8"),),
    ),
    Entry(
        name="fashion_mnist",
        title="Fashion-MNIST, grey levels",
        shape="uint8 (50000, 784) / (10000, 784) / (10000, 784), 0 to 255, with labels",
        protocol="Training images 0 to 49,999 train, 50,000 to 59,999 validate; the official test images test.",
        licence="MIT",
        citation="Xiao, Rasul and Vollgraf 2017, Fashion-MNIST, arXiv:1708.07747",
        key="xiao2017",
        files=_mirrored("fashion_mnist", FASHION, {
            "train-images-idx3-ubyte.gz": (
                26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
            "train-labels-idx1-ubyte.gz": (
                29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
            "t10k-images-idx3-ubyte.gz": (
                4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
            "t10k-labels-idx1-ubyte.gz": (
                5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
        }, known_from="published in tensorflow/datasets"),
    ),
    Entry(
        name="caltech101_silhouettes",
        title="Caltech-101 silhouettes, 28 x 28",
        shape="uint8 (4100, 784) / (2264, 784) / (2307, 784), 1 = object, with labels 0 to 100",
        protocol='split="official" reads the published split, the one that papers use. split="own", the default, cuts '
        "one fixed permutation of the same 8,671 images into the same sizes, without the published cap of 100 training "
        "images a class: its numbers are not comparable with papers. Images are turned upright and the object made 1; "
        "the file has columns first and object = 0.",
        licence="none stated (B. Marlin, from the Caltech-101 annotations)",
        citation="Marlin, Swersky, Chen and de Freitas 2010, Inductive principles for restricted Boltzmann machine "
        "learning",
        key="marlin2010",
        files=(
            File("caltech101_silhouettes/caltech101_silhouettes_28.mat", 701202,
                 "sha256:862d0a4b828256d54ad5de7c5066c18c72f355cac5b7cde4c1c3be7c000d180b",
                 (MARLIN + "caltech101_silhouettes_28.mat",),
                 known_from="of a copy whose md5 is the one published in google-deepmind/dm_nevis"),
            File("caltech101_silhouettes/caltech101_silhouettes_28_split1.mat", None,
                 "md5:4483e9c14b188fd09937f9ea6f9ea777", (MARLIN + "caltech101_silhouettes_28_split1.mat",),
                 known_from="md5 published in google-deepmind/dm_nevis; neither size nor sha256 is known"),
        ),
        options={"split": ("own", "official")},
    ),
    Entry(
        name="cifar10_small",
        title="The first 4,000 training images of CIFAR-10, in colour",
        shape="uint8 (3000, 3072) / (500, 3072) / (500, 3072), 0 to 255; the red plane first, then green, then blue",
        protocol="The first 4,000 of the 50,000 training images, in the order of their file: 3,000 train, 500 validate, 500 "
        "test. Not comparable with papers, which train on all and test on the 10,000 test images. side=16 or side=8 "
        "gives smaller images: the mean of a square of pixels, rounded. Bits per dimension of different sizes cannot be "
        "compared.",
        licence="none stated by the source",
        citation="Krizhevsky 2009, Learning multiple layers of features from tiny images",
        key="krizhevsky2009",
        files=CIFAR10,
        packed=tuple(replace(file, path=f"cifar10_small/cifar10_train_{first:05}.png", urls=(),
                             known_from="the same bytes under a name that says which images they are")
                     for first, file in zip(range(0, 4000, 1000), CIFAR10)),
        options={"side": (32, 16, 8)},
    ),
    Entry(
        name="nltcs",
        title="National long-term care survey: 16 yes-or-no answers on disability",
        shape="uint8 (16181, 16) / (2157, 16) / (3236, 16), 0 or 1",
        protocol="The published split. Few enough variables that all 65,536 states can be enumerated.",
        licence="none stated; its home asks to cite the papers",
        citation="Lowd and Davis 2010, Learning Markov network structure with decision trees; Van Haaren and Davis "
        "2012, Markov network structure learning: a randomized feature generation approach",
        key="lowd2010markov",
        files=_mirrored("nltcs", tuple(home + "nltcs/" for home in DENSITY), {
            "nltcs.train.data": (517792, "e547a7aedad1dd2f7177030881ab1b92c7e24ae5464c71a0f1f89daecaf52b30"),
            "nltcs.valid.data": (69024, "93bbbf5c6febdc9bc6e5b5bfab636f4dc0685ab2896d24b23dd267794c3bfcf6"),
            "nltcs.test.data": (103552, "f9ffa6b74b27dc03bee3203d157ee31079e80b13be40d0c0093d635c25aed523"),
        }, known_from="the text regenerated from the re-packed arrays; that of train is also published by its users"),
        packed=(File("density20/nltcs.npz", 40307,
                     "sha256:28a93f850ccf2f9fdf142c8304884dc5c11070a9899bb97fb44a727bd6b41338"),),
    ),
    Entry(
        name="plants",
        title="Plants of the USA and Canada: in which of 69 regions a species grows",
        shape="uint8 (17412, 69) / (2321, 69) / (3482, 69), 0 or 1",
        protocol="The published split.",
        licence="none stated; its home asks to cite the papers",
        citation="Lowd and Davis 2010, Learning Markov network structure with decision trees; Van Haaren and Davis "
        "2012, Markov network structure learning: a randomized feature generation approach",
        key="lowd2010markov",
        files=_mirrored("plants", tuple(home + "plants/" for home in DENSITY), {
            "plants.train.data": (2402856, "1fb1219ff94068d12a563f9e81f8889a1885f41e867884cff608669300c6848f"),
            "plants.valid.data": (320298, "47834ed318b2d74f48e4b083226ef47fd446d41986012ceae19d230574821b34"),
            "plants.test.data": (480516, "95f53c033cd1d86467aec2610dc5bfe014534206c2da4919f73bcab246ab8755"),
        }, known_from="published by users of the files; the text regenerated from the re-packed arrays has the same"),
        packed=(File("density20/plants.npz", 136772,
                     "sha256:27acc62f832d20514149e97434d86a9ad8fe3b684d183b7c34ce49aa3d67823e"),),
    ),
    Entry(
        name="tiny_shakespeare",
        title="A megabyte of Shakespeare's plays",
        shape="str, 1003854 / 55770 / 55770 characters, 65 distinct",
        protocol="Consecutive parts of the text: the first 90 % train, the next 5 % validate, the last 5 % test. "
        "Some papers validate on the last 10 %.",
        licence="public-domain text; its home states no licence",
        citation="Karpathy 2015, The unreasonable effectiveness of recurrent neural networks",
        key="karpathy2015unreasonable",
        files=(File("tiny_shakespeare/input.txt", 1115394,
                    "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
                    (GITHUB + "karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
                     GITHUB + "jcjohnson/torch-rnn/master/data/tiny-shakespeare.txt")),),
    ),
    Entry(
        name="names",
        title="First names in the USA, 2018",
        shape="list of str, 23595 / 2949 / 2950 distinct names in a to z",
        protocol="2,539 of the 32,033 lines repeat a name; each is kept once, so that no test name is trained on. The "
        "29,494 distinct names, sorted, then put in one fixed random order, are cut at 80 and 90 %.",
        licence="MIT (its home); names from the US Social Security Administration",
        citation="Karpathy 2022, makemore",
        key="karpathy2022",
        files=(File("names/names.txt", 228145,
                    "sha256:0a30b5557f192f32ab962680889aac5f6fda0f4cecf40a6d0b5694f58ea8cc4d",
                    (GITHUB + "karpathy/makemore/master/names.txt",
                     "https://github.com/karpathy/makemore/raw/master/names.txt")),),
    ),
    *(_uci(f"{colour}_wine", f"Physical and chemical measurements of {colour} Vinho Verde", "wine-quality",
           File(f"winequality-{colour}.csv", size, f"sha256:{sha}", known_from="also published in tensorflow/datasets"),
           rows, 11, "The eleven measurements; the quality, a whole number, is left out.",
           citation="Cortez, Cerdeira, Almeida, Matos and Reis 2009, Modeling wine preferences by data mining from "
           "physicochemical properties", key="cortez2009") for colour, rows, size, sha in (
        ("red", 1599, 84199, "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e"),
        ("white", 4898, 264426, "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836"))),
    _uci("parkinsons", "Voice measurements of people with Parkinson's disease", "parkinsons/telemonitoring",
         File("parkinsons_updrs.data", 911261,
              "sha256:f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39", known_from="of a copy"),
         5875, 15, "Left out: subject, age and sex, and one of each pair that is correlated above 0.98: Jitter(%), "
         "Jitter:DDP, Shimmer, Shimmer:DDA.", key="tsanas2010", citation="Tsanas, Little, McSharry and Ramig 2010, "
         "Accurate telemonitoring of Parkinson's disease progression by noninvasive speech tests"),
    _uci("ionosphere", "Radar returns from the ionosphere", "ionosphere",
         File("ionosphere.data", 76467,
              "sha256:46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd", known_from="of a copy"),
         351, 32, "Left out: the first column, 0 or 1, the second, always 0, and the class.", key="sigillito1989",
         citation="Sigillito, Wing, Hutton and Baker 1989, Classification of radar returns from the ionosphere using "
         "neural networks"),
    _uci("boston_housing", "House prices around Boston, 1970", "housing",
         File("housing.data", 49082,
              "sha256:baadf72995725d76efe787b664e1f083388c79ba21ef9a7990d87f774184735a", known_from="of a copy"),
         506, 10, "The paper keeps ten columns and does not name them, so its figure is not comparable. Left out here: "
         "CHAS and RAD, whole numbers, TAX, and B, which is defined by race. For comparison with papers on densities "
         "only.", licence="none stated (StatLib)", key="harrison1978",
         citation="Harrison and Rubinfeld 1978, Hedonic housing prices and the demand for clean air"),
    Entry(
        name="multi30k",
        title="Captions of photographs in German, English and French",
        shape="list of (str, str), 29000 / 1014 / 1000 pairs",
        protocol="Task 1 of WMT 2016: train, val and test_2016_flickr, raw text, one sentence a line. BLEU depends on case and "
        "tokens: figures on lower-cased tokens and on plain text are not comparable.",
        licence="non-commercial research and educational use",
        citation="Elliott, Frank, Sima'an and Specia 2016, Multi30K: multilingual English-German image descriptions",
        key="elliott2016",
        files=_mirrored("multi30k", tuple(f"{home}multi30k/dataset/{raw}master/data/task1/raw/" for home, raw in (
            (GITHUB, ""), ("https://github.com/", "raw/"))), {
                "train.de.gz": (637044, "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"),
                "train.en.gz": (568929, "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"),
                "train.fr.gz": (604242, "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c"),
                "val.de.gz": (24681, "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"),
                "val.en.gz": (21650, "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"),
                "val.fr.gz": (23001, "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9"),
                "test_2016_flickr.de.gz": (22890, "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"),
                "test_2016_flickr.en.gz": (21077, "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"),
                "test_2016_flickr.fr.gz": (22310, "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90")}),
        options={"source": ("de", "en", "fr"), "target": ("en", "de", "fr")},
    ),
    Entry(
        name="sst2",
        title="Sentences of film reviews, negative or positive",
        shape="list of str, 6920 / 872 / 1821 sentences, lower case, tokens apart",
        protocol="The published split, sentence level. GLUE trains on phrases too, ten times as many rows, and keeps its test "
        "labels: not comparable.",
        licence="none stated",
        citation="Socher, Perelygin, Wu, Chuang, Manning, Ng and Potts 2013, Recursive deep models for semantic "
        "compositionality over a sentiment treebank",
        key="socher2013",
        files=_mirrored("sst2", (GITHUB + "clairett/pytorch-sentiment-classification/master/data/SST2/",
                                 "https://github.com/clairett/pytorch-sentiment-classification/raw/master/data/SST2/"), {
            "train.tsv": (720259, "ec192f833a64da08f475488a77b0d0b47db47acd0f458bd18433fc793b569920"),
            "dev.tsv": (92057, "eddea6b39e601dd4e7a672b53cc40fdf6019fa80522f351206c24340ca5d9359"),
            "test.tsv": (188749, "831169c7e2e429d6026e1bdbb542f33b636e3e596caad9602ebc953c205928b7")}),
    ),
    Entry(
        name="cola",
        title="Sentences from papers on grammar, acceptable or not",
        shape="list of str, 8551 / 527 / 516 sentences",
        protocol="The public part of version 1.1. Valid is the development set from the sources of train, test the one from other "
        "sources: the labels of the real test sets are not public. Reported as Matthews' correlation.",
        licence="copyright remains with the authors of the sentences; research use",
        citation="Warstadt, Singh and Bowman 2019, Neural network acceptability judgments",
        key="warstadt2019",
        files=(File("cola/cola_public_1.1.zip", 255330,
                    "sha256:2cf856f46df11c143d38e0cf2f9f34ff2fdb088c521cd859f5c4b9581683278b",
                    ("https://nyu-mll.github.io/CoLA/cola_public_1.1.zip",)),),
    ),
)

REGISTRY: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}


def find(name: str) -> Entry:
    """The entry called `name`. Raises ValueError, with the nearest name, if there is none."""
    if name in REGISTRY:
        return REGISTRY[name]
    near = difflib.get_close_matches(name.lower(), REGISTRY, n=1, cutoff=0.0)[0]
    raise ValueError(f"name is {name!r}; the nearest data set is {near!r}. There are: {', '.join(REGISTRY)}")
