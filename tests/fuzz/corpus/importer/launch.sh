vllm serve meta-llama/Llama-3.1-70B -tp 4 --max-model-len 8K
