"""Runs ShinkaEvolve: url, results directory, generations, slots, patch type, time limit of an evaluation."""

import sys

from shinka.core import EvolutionConfig, ShinkaEvolveRunner
from shinka.database import DatabaseConfig
from shinka.launch import LocalJobConfig

url, results, generations, slots, patch, limit = sys.argv[1:]
runner = ShinkaEvolveRunner(
    evo_config=EvolutionConfig(
        task_sys_msg="Make it faster.",
        patch_types=[patch],
        patch_type_probs=[1.0],
        num_generations=int(generations),
        llm_models=["local/tester@" + url],
        llm_dynamic_selection=None,
        embedding_model=None,
        meta_rec_interval=None,
        max_patch_resamples=1,
        init_program_path="initial.py",
        results_dir=results,
    ),
    job_config=LocalJobConfig(eval_program_path="evaluate.py", time=limit),
    db_config=DatabaseConfig(db_path="programs.sqlite"),
    max_evaluation_jobs=int(slots),
    max_proposal_jobs=int(slots),
    verbose=False,
)
runner.run()
