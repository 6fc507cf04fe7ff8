import { join } from "node:path";
import { dockerfile, makeImageContext } from "./image-context.ts";
import { run } from "./run.ts";
import { root } from "./workspace.ts";

// make image: the container image of the program, built by Docker or another program with the same flags.
//   BASE    base image; default: that of the Dockerfile
//   PROVIDERS  providers in addition to those of the program, such as "aci fargate"; default: none
//   TAG     name of the image; default: virtual-kubelet:VERSION
//   DOCKER  program that builds; default: docker
const { BASE: base, PROVIDERS: providers = "", TAG: tag, DOCKER: docker } = process.env;
try {
  const { folder, version } = await makeImageContext(providers.split(/[\s,]+/).filter((name) => name !== ""));
  const name = tag || `virtual-kubelet:${version}`;
  const buildArguments = [`VERSION=${version}`, ...(base ? [`BASE=${base}`] : [])].map((each) => `--build-arg=${each}`);
  const args = ["build", `--file=${join(root, dockerfile)}`, `--tag=${name}`, ...buildArguments, folder];
  const { code } = await run(docker || "docker", args, { output: "inherit" });
  if (code === 0) console.log(`image ${name} is built; the guide docs/guides/on-my-cluster.md says how nodes get it`);
  process.exitCode = code;
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
