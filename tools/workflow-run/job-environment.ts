import { machinePath, runnerUser } from "./runner-machine.ts";
import type { Texts } from "./workflow-file.ts";

/** The repository, as workflows know it. */
export const repository = "virtual-kubelet/virtual-kubelet-ts";

/** Where a job checks the repository out. */
export const workspace: string = `${runnerUser.home}/work/virtual-kubelet-ts/virtual-kubelet-ts`;

/** Folder for temporary files of the job. */
export const temp: string = `${runnerUser.home}/work/_temp`;

/** Environment that the service gives every step of a job. `extra` has variables of earlier steps, and `path` their additions to the search path. */
export function jobEnvironment(job: string, workflow: string, extra: Texts, path: readonly string[]): Texts {
  return {
    ...networkEnvironment(),
    CI: "true",
    DEBIAN_FRONTEND: "noninteractive",
    GITHUB_ACTIONS: "true",
    GITHUB_ACTOR: runnerUser.name,
    GITHUB_EVENT_NAME: "push",
    GITHUB_JOB: job,
    GITHUB_REF: "refs/heads/main",
    GITHUB_REF_NAME: "main",
    GITHUB_REPOSITORY: repository,
    GITHUB_RUN_ID: "1",
    GITHUB_SERVER_URL: "https://github.com",
    GITHUB_WORKFLOW: workflow,
    GITHUB_WORKSPACE: workspace,
    HOME: runnerUser.home,
    ImageOS: "ubuntu24",
    LANG: "C.UTF-8",
    LOGNAME: runnerUser.name,
    RUNNER_ARCH: "X64",
    RUNNER_OS: "Linux",
    RUNNER_TEMP: temp,
    RUNNER_TOOL_CACHE: "/opt/hostedtoolcache",
    SHELL: "/bin/bash",
    USER: runnerUser.name,
    XDG_CONFIG_HOME: `${runnerUser.home}/.config`,
    ...extra,
    PATH: [...path, `${runnerUser.home}/.local/bin`, machinePath].join(":"),
  };
}

/** This machine's settings for package registries, which the service's machine reaches without settings. */
function networkEnvironment(): Texts {
  const names =
    /^(npm_config_registry|GOPROXY|GONOSUMDB|GOSUMDB|PIP_\w+|\w+_CA_BUNDLE|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|GIT_SSL_CAINFO|(https?|no)_proxy)$/i;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (names.test(name) && value !== undefined ? [[name, value]] : [])),
  );
}
