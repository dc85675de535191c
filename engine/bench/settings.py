"""What changes bits or times outside of any runtime: the backends' settings, as released and pinned; and versions.

Process wide, hence set around each run and put back. Entered by the engine thread.
"""

import os
import platform
import sys
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

as_released = nullcontext  # torch's defaults, which no model's own code touches


def described() -> dict[str, Any]:
    """The settings, for the record; in force unless a runtime pins others."""
    sdp = torch.backends.cuda
    return {
        "tf32_products": torch.backends.cuda.matmul.allow_tf32,
        "tf32_convolutions": torch.backends.cudnn.allow_tf32,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "cudnn_deterministic": {"stock_released": torch.backends.cudnn.deterministic, "others": True},
        "cudnn_attention": {"stock_released": sdp.cudnn_sdp_enabled(), "others": False},
        "sdpa": [
            name
            for name, enabled in (
                ("flash", sdp.flash_sdp_enabled()),
                ("efficient", sdp.mem_efficient_sdp_enabled()),
                ("cudnn", sdp.cudnn_sdp_enabled()),
                ("math", sdp.math_sdp_enabled()),
            )
            if enabled
        ],
        "cublas_workspace": os.environ.get("CUBLAS_WORKSPACE_CONFIG", "torch's default"),
        "allocator": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "torch's default"),
        "threads": torch.get_num_threads(),
        "garbage": "collected between measurements alone",
    }


def versions() -> dict[str, str]:
    """Of what was measured with."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": str(torch.version.cuda),
        "cudnn": str(torch.backends.cudnn.version()),
        "numpy": np.__version__,
        "system": f"{sys.platform} {platform.machine()}",
    }
