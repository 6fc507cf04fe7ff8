import { join } from "node:path";
import type { PythonPackages } from "./python-environment.ts";
import { root } from "./workspace.ts";

/** moto, which imitates AWS, and botocore, which has AWS's models. */
export const moto: PythonPackages = {
  name: "moto",
  folder: "moto",
  requirements: join(root, "e2e/fargate/moto/requirements.txt"),
  variable: "MOTO_PYTHON",
};
