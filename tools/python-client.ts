import { join } from "node:path";
import type { PythonPackages } from "./python-environment.ts";
import { root } from "./workspace.ts";

/** Kubernetes' Python client and pytest, for the example. */
export const pythonClient: PythonPackages = {
  name: "Kubernetes' Python client",
  folder: "python-client",
  requirements: join(root, "examples/test-in-python/requirements.txt"),
  variable: "PYTHON_CLIENT",
};
