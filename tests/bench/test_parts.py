"""The benchmark's parts: counted operations are those that run, a difference is found and named, kernels have kinds."""

import subprocess
import sys
from dataclasses import replace
from itertools import islice

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from engine.bench import floor
from engine.bench.columns import PINNED
from engine.bench.course import course, for_ever
from engine.bench.equality import compare, script
from engine.bench.kernels import kind_of
from engine.bench.tails import STEADY, TAILS, find_tail
from engine.models.token2wav.sizes import Token2WavSizes
from engine.plan.planned import Plan

STAGES = ("flow_encoder", "flow", "vocoder")
TOKENS = 6561


def planned(tail, prompt: int = 85) -> Plan:
    return tail.plan(tail.lines(prompt, Token2WavSizes()))


def test_the_counted_operations_are_those_that_run(rig):
    prompt = rig.prompt(2.0)
    ours = rig.cadence(prompt)
    ours.prepare(prompt)
    units = course(ours.plan, for_ever(STEADY), rig.sizes.flow.vocabulary, rig.place.device)
    for unit in islice(units, floor.STEADY_UNIT):
        ours.say(unit)
        ours.rest(unit)
    for stage in STAGES:  # what is constant is made before
        (launch,) = ours.plan.unit(floor.STEADY_UNIT).stages[stage].launches
        ours.ours.rehearse(stage, launch.shape, last=False)

    def attention(query, key, *_, out_shape=None, **__) -> int:
        return 4 * query[0] * query[1] * query[2] * key[2] * query[3]

    on_cpu = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    with FlopCounterMode(display=False, custom_mapping={on_cpu: attention}) as counter:
        ours.say(next(units))

    ran = {str(operation): count for operation, count in counter.get_flop_counts()["Global"].items()}
    work = floor.steady_work(ours.plan, rig.sizes, rig.asked.tail.solver_steps)
    assert 2 * work.convolutions == ran.pop("aten.convolution")
    assert 2 * work.products == sum(ran.values())


def test_a_floor_is_the_greater_of_bytes_and_operations():
    for tail in TAILS:
        found = floor.floor(planned(tail), Token2WavSizes(), tail.solver_steps, "NVIDIA H200")
        assert found["floor_ms"] == max(found["by_bytes_ms"], found["by_operations_ms"])
        assert 0.5 < found["floor_ms"] < 5
    unknown = floor.floor(planned(TAILS[0]), Token2WavSizes(), 5, "Voodoo 2")
    assert "floor_ms" not in unknown
    assert "Voodoo 2" in unknown["unknown"]


def test_a_steady_second_is_one_launch_of_28_tokens():
    for tail in TAILS:
        units = list(islice(course(planned(tail), for_ever(STEADY), TOKENS, torch.device("cpu")), 12))
        assert all([each.tokens.shape[1] for each in unit.launches] == [28] for unit in units[2:])


def test_the_script_begins_short_ends_in_a_flush_and_comes_again():
    units = list(islice(course(planned(TAILS[0]), for_ever(script(tiny=False)), TOKENS, torch.device("cpu")), 64))
    ends = [index for index, unit in enumerate(units) if unit.ends]
    assert ends == [31, 63]
    for first in (0, 32):
        assert [each.tokens.shape[1] for each in units[first].launches] == [20]
        assert units[first + 31].launches[-1].last
    seeds = [launch.seed for unit in units for launch in unit.launches]
    assert len(set(seeds)) == len(seeds)


def test_one_bit_is_found_and_named(rig):
    prompt = rig.prompt(2.0)
    ours, theirs = rig.cadence(prompt), rig.stock(PINNED)
    for column in (ours, theirs):
        column.prepare(prompt)
    units = course(ours.plan, for_ever(STEADY), rig.sizes.flow.vocabulary, rig.place.device)
    before = compare(ours, theirs, islice(units, 3))
    assert before == {"against": PINNED, "units": 3, "launches": 3, "equal": 3, "first_difference": None}

    ours.views["vocoder.source"][0] += 1e-3
    after = compare(ours, theirs, islice(units, 2))

    assert after["equal"] < 2
    assert after["first_difference"].startswith("unit 3: sound of 28 tokens")


def test_runtimes_share_weights_and_nothing_else(rig):
    prompt = rig.prompt(2.0)
    columns = [rig.stock(PINNED), rig.stock(PINNED), rig.cadence(prompt)]
    for column in columns:
        column.prepare(prompt)
    one, other = (column.driver.own.flow for column in columns[:2])
    weight = rig.made.flow["decoder.estimator.in_proj.weight"].data_ptr()
    assert (
        one.decoder.estimator.in_proj.weight.data_ptr() == weight == other.decoder.estimator.in_proj.weight.data_ptr()
    )
    assert one.decoder.att_cache_buffer.data_ptr() != other.decoder.att_cache_buffer.data_ptr()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80", "attention"),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_tn_align1>", "product"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw", "convolution"),
        ("void cudnn::ops::nchwToNhwcKernel<float, float, float>", "layout"),
        ("void at::native::CatArrayBatchedCopy_contig", "joining"),
        ("Memcpy DtoD (Device -> Device)", "copy"),
        ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel", "norm"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", "element-wise"),
        ("void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float>", "random"),
        ("something_new", "other"),
    ],
)
def test_kernels_have_kinds(name, kind):
    assert kind_of(name) == kind


def test_a_model_is_known_by_the_beginning_of_its_name():
    assert find_tail("step-audio-2") is find_tail("Step-Audio-2-mini")
    assert [tail.solver_steps for tail in TAILS] == [5, 10]
    assert replace(TAILS[1], least=5, silence=3) == TAILS[1].eager_to_start()


def test_it_starts_without_a_window_and_a_sound_card():
    code = (
        "import sys\n"
        "sys.modules.update(PySide6=None, sounddevice=None)\n"
        "from app.__main__ import main\n"
        "sys.exit(main(['bench', '--model', 'mini', '--tiny', '--device', 'cpu', '--parts', 'floor']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "minicpm-o-4.5, tail" in done.stdout
