"""The models against published parameter counts, against PyTorch's own modules, and written out by hand."""

import pytest
import torch
from hooke.objective.models.alexnet import alexnet
from hooke.objective.models.googlenet import AUXILIARY, WITH_AUXILIARIES, GoogLeNet
from hooke.objective.models.layers import Dropout, localise
from hooke.objective.models.resnet import Block, resnet
from hooke.objective.models.transformer import Block as Attention
from hooke.objective.models.transformer import Transformer, initialise
from hooke.objective.models.vgg import vgg19
from torch import nn
from torch.nn import functional


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def fill(model: nn.Module, seed: int = 0) -> nn.Module:
    """Draw every parameter without the global generator."""
    generator = seeded(seed)
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.2, generator=generator)
    return model


def test_published_parameter_counts():
    assert count(resnet(3)) == 269_722, "He et al., table 6: 0.27 M"
    assert count(resnet(9)) == 853_018, "ResNet-56: 0.85 M"
    with torch.device("meta"):
        assert count(vgg19(1000)) == 143_667_240, "Simonyan and Zisserman, table 2: 144 million"
        net = GoogLeNet(1000)
    # Caffe's bvlc_googlenet.caffemodel, auxiliary classifiers included, is a file of 53.5 MB
    assert count(net) * 4 == pytest.approx(53.53e6, rel=1e-3)
    assert count(net) - count(net.auxiliary1) - count(net.auxiliary2) == 6_998_552


def test_depths_are_those_of_the_names():
    def weighted(model: nn.Module) -> int:
        return sum(isinstance(m, nn.Conv2d | nn.Linear) for m in model.modules())

    assert weighted(resnet(3)) == 20
    assert weighted(alexnet(8, 0.5)) == 5 + 3
    with torch.device("meta"):
        assert weighted(vgg19(10)) == 19
        net = GoogLeNet(10)
    # the deepest way: each inception module counts 2
    assert 3 + 2 * len(net.inceptions) + 1 == 22


def test_alexnet_written_as_numbers():
    convolutions = [(3, 64), (64, 192), (192, 384), (384, 256), (256, 256)]
    dense = [(256 * 4 * 4, 1024), (1024, 1024), (1024, 10)]
    expected = sum(9 * a * b + b for a, b in convolutions) + sum(a * b + b for a, b in dense)
    assert count(alexnet(1024, 0.5)) == expected == 7_506_762
    assert alexnet(16, 0.5)(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


@pytest.mark.parametrize(("before", "after", "stride"), [(4, 4, 1), (4, 8, 2)])
def test_a_residual_block_is_the_formula(before, after, stride):
    block = fill(Block(before, after, stride)).train()
    x = torch.randn(3, before, 8, 8, generator=seeded(1))
    y = functional.conv2d(x, block.conv1.weight, stride=stride, padding=1)
    y = functional.relu(functional.batch_norm(y, None, None, block.norm1.weight, block.norm1.bias, training=True))
    y = functional.conv2d(y, block.conv2.weight, padding=1)
    y = functional.batch_norm(y, None, None, block.norm2.weight, block.norm2.bias, training=True)
    shortcut = torch.zeros_like(y)
    shortcut[:, :before] = x[:, :, ::stride, ::stride]
    torch.testing.assert_close(block(x), functional.relu(y + shortcut))


def test_an_attention_block_is_pytorchs():
    ours = fill(Attention(16, 4))
    theirs = nn.TransformerEncoderLayer(
        16, 4, 64, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    theirs.load_state_dict(
        {
            "self_attn.in_proj_weight": ours.attend.weight,
            "self_attn.in_proj_bias": ours.attend.bias,
            "self_attn.out_proj.weight": ours.project.weight,
            "self_attn.out_proj.bias": ours.project.bias,
            "linear1.weight": ours.widen.weight,
            "linear1.bias": ours.widen.bias,
            "linear2.weight": ours.narrow.weight,
            "linear2.bias": ours.narrow.bias,
            "norm1.weight": ours.norm1.weight,
            "norm1.bias": ours.norm1.bias,
            "norm2.weight": ours.norm2.weight,
            "norm2.bias": ours.norm2.bias,
        }
    )
    x = torch.randn(3, 7, 16, generator=seeded(2))
    mask = nn.Transformer.generate_square_subsequent_mask(7)
    torch.testing.assert_close(ours(x), theirs(x, src_mask=mask, is_causal=True), rtol=1e-4, atol=1e-5)


def test_no_position_sees_what_comes_after_it():
    model = fill(Transformer(11, 8, 16, 2, 2))
    text = torch.randint(0, 11, (2, 8), generator=seeded(3))
    other = text.clone()
    other[:, 5:] = (other[:, 5:] + 1) % 11
    before, after = model(text), model(other)
    assert before.shape == (2, 8, 11)
    torch.testing.assert_close(before[:, :5], after[:, :5])
    assert not torch.allclose(before[:, 5:], after[:, 5:])


def test_the_transformer_begins_as_documented():
    model = Transformer(65, 64, 128, 4, 2)
    with torch.no_grad():
        initialise(model, seeded())
    assert count(model) == 65 * 128 + 64 * 128 + 2 * (12 * 128**2 + 13 * 128) + 2 * 128 + 128 * 65 == 421_632
    assert float(model.character.weight.detach().std()) == pytest.approx(0.02, rel=0.05)
    assert float(model.blocks[0].project.weight.detach().std()) == pytest.approx(0.01, rel=0.05)
    assert bool((model.norm.weight == 1).all())
    assert not model.blocks[1].narrow.bias.any()
    # untrained, it knows nothing: log(65) per character
    loss = functional.cross_entropy(model(torch.zeros(1, 64, dtype=torch.long)).flatten(0, 1), torch.arange(64))
    assert float(loss.detach()) == pytest.approx(4.17, abs=0.1)


def test_auxiliary_classifiers_count_in_training_only():
    net = fill(GoogLeNet(5))
    x, labels = torch.randn(2, 3, 32, 32, generator=seeded(4)), torch.tensor([1, 4])
    for dropout in (m for m in net.modules() if isinstance(m, Dropout)):
        dropout.p = 0.0
    outputs = net.train()(x)
    parts = [functional.cross_entropy(output, labels) for output in outputs]
    torch.testing.assert_close(
        WITH_AUXILIARIES.loss(outputs, labels), parts[0] + AUXILIARY * (parts[1] + parts[2])
    )
    answer = net.eval()(x)
    torch.testing.assert_close(answer, outputs[0])
    torch.testing.assert_close(WITH_AUXILIARIES.loss(answer, labels), parts[0])


def test_dropout_draws_from_its_own_stream_and_keeps_the_mean():
    dropout = Dropout(0.3)
    before = torch.get_rng_state()
    dropout.reseed(7)
    first, second = dropout(torch.ones(100_000)), dropout(torch.ones(100_000))
    dropout.reseed(8)
    other = dropout(torch.ones(100_000))
    dropout.reseed(7)
    again = dropout(torch.ones(100_000))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first, second)
    assert first.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert float(first.mean()) == pytest.approx(1, abs=0.01)
    assert torch.equal(dropout.eval()(torch.ones(9)), torch.ones(9))


def test_every_dropout_of_a_model_is_replaced():
    model = localise(nn.Sequential(nn.Dropout(0.1), nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.2))))
    assert [(type(m), m.p) for m in model.modules() if isinstance(m, nn.Dropout)] == [
        (Dropout, 0.1),
        (Dropout, 0.2),
    ]
    twice, one = nn.Module(), nn.Dropout(0.3)
    twice.first, twice.second, twice.none = one, one, None
    twice.register_module("empty", None)
    assert type(localise(twice).first) is type(twice.second) is Dropout and twice.empty is None
