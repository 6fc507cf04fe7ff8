import { join } from "node:path";
import { dockerfiles, imageNamed, makeApiServerContext, makeImageContext } from "./image-context.ts";
import { run } from "./run.ts";
import { root } from "./workspace.ts";

// make image: the container image of the program, or of the embedded API server, built by Docker or another program with the same flags.
//   IMAGE   virtual-kubelet or embedded-apiserver; default: virtual-kubelet
//   BASE    base image; default: that of the Dockerfile
//   PROVIDERS  providers in addition to those of the program, such as "aci fargate"; default: none
//   TAG     name of the image; default: IMAGE:VERSION
//   DOCKER  program that builds; default: docker
const { IMAGE: wanted, BASE: base, PROVIDERS: providers = "", TAG: tag, DOCKER: docker } = process.env;
const guides = { "virtual-kubelet": "on-my-cluster.md", "embedded-apiserver": "testing-on-the-embedded-api-server.md" } as const;
try {
  const image = imageNamed(wanted || "virtual-kubelet");
  const isProgram = image === "virtual-kubelet";
  const names = providers.split(/[\s,]+/).filter((name) => name !== "");
  if (!isProgram && names.length > 0) throw new Error(`PROVIDERS: the image ${image} has no providers`);
  const { folder, version } = await (isProgram ? makeImageContext(names) : makeApiServerContext());
  const name = tag || `${image}:${version}`;
  const buildArguments = [`VERSION=${version}`, ...(base ? [`BASE=${base}`] : [])].map((each) => `--build-arg=${each}`);
  const args = ["build", `--file=${join(root, dockerfiles[image])}`, `--tag=${name}`, ...buildArguments, folder];
  const { code } = await run(docker || "docker", args, { output: "inherit" });
  if (code === 0) console.log(`image ${name} is built; the guide docs/guides/${guides[image]} says how it is used`);
  process.exitCode = code;
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
