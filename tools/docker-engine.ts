import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { inEngineNamespaces, problemOf } from "./network-namespace.ts";
import { asRoot, sudoHint, type Command } from "./superuser.ts";

/** Programs that the Docker provider's tests need, with their Debian packages. */
const programs: Readonly<Record<string, string>> = {
  dockerd: "docker.io",
  "docker-registry": "docker-registry",
  iptables: "iptables",
  ip: "iproute2",
  nsenter: "util-linux",
};

/** Required files outside the PATH: a static Busybox, which runs in an otherwise empty image, and network plugins. */
const files: Readonly<Record<string, string>> = {
  "/bin/busybox": "busybox-static",
  "/usr/lib/cni/bridge": "containernetworking-plugins",
};

/** Why the tests of the Docker provider cannot run here, and what they need; `undefined` if they can. */
export function missingDocker(environment: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  if (process.platform !== "linux") return `containers need Linux, and this is ${process.platform}`;
  if (asRoot(["true"]) === undefined) return `a Docker engine of the tests' own, and ports inside of pods, need root, or ${sudoHint}`;
  const folders = [...(environment["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  const missing = Object.entries(programs).filter(([program]) => !folders.some((folder) => existsSync(join(folder, program))));
  missing.push(...Object.entries(files).filter(([path]) => !existsSync(path)));
  const needed = missing.filter(([program]) => environment["VK_TEST_DOCKER_HOST"] === undefined || program !== "dockerd");
  if (needed.length === 0) return environment["VK_TEST_DOCKER_HOST"] === undefined ? missingNamespaces() : undefined;
  const names = needed.map(([program]) => program).join(", ");
  const packages = [...new Set(needed.map(([, name]) => name))].join(" ");
  return `there is no ${names}: apt-get install ${packages}`;
}

/** Wraps the command in a network namespace, unless an engine is named, which uses the machine's network. */
export function inDockerSurroundings(command: Command): Command {
  return process.env["VK_TEST_DOCKER_HOST"] === undefined ? inEngineNamespaces(command) : (asRoot(command) ?? command);
}

/** Reason why even root cannot create namespaces here. */
function missingNamespaces(): string | undefined {
  const why = problemOf(inEngineNamespaces(["true"]));
  return why === undefined ? undefined : `no namespaces can be made (${why}): a Docker engine needs CAP_SYS_ADMIN`;
}
