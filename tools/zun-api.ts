import { join } from "node:path";
import type { PythonPackages } from "./python-environment.ts";
import { root } from "./workspace.ts";

/** Zun's API. */
export const zunApi: PythonPackages = {
  name: "Zun's API",
  folder: "zun-api",
  requirements: join(root, "e2e/zun/zun-api/requirements.txt"),
  variable: "ZUN_API_PYTHON",
};
