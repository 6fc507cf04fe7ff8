import type { CommandName } from "./flag.ts";

/** Description of a command for help and completion. */
export interface Command {
  readonly name: CommandName;
  readonly summary: string;
  /** Arguments as shown in help. */
  readonly args?: string;
  /** Possible values of the first argument, if they are few. */
  readonly words?: readonly string[];
}

/** All commands in the order of help. `run` is the default. */
export const commands: readonly Command[] = [
  { name: "run", summary: "join a cluster as a node, and run the pods bound to it" },
  {
    name: "join",
    summary: "get the credentials of a node: find the cluster by a bootstrap token, request a certificate, and write a kubeconfig",
    args: "[HOST:PORT]",
  },
  {
    name: "demo",
    summary: "start a demo cluster with a virtual node; needs only Node.js",
  },
  {
    name: "simulate",
    summary: "add mock nodes to a cluster, or to one in memory with --embedded: pods that are bound to them run at once, and cost nothing",
  },
  { name: "providers", summary: "list the built-in providers, or show the capabilities and settings of one", args: "[NAME]" },
  {
    name: "config",
    summary: "check the configuration, print it with the source of each value, or print its JSON Schema",
    args: "validate|print|schema",
    words: ["validate", "print", "schema"],
  },
  {
    name: "manifests",
    summary:
      "print manifests for kubectl apply: access rights (rbac), the Node, both (all), " +
      "everything that runs the program in the cluster (deployment), or the rights in another cluster in which the pods run (far)",
    args: "rbac|node|all|deployment|far",
    words: ["rbac", "node", "all", "deployment", "far"],
  },
  {
    name: "service",
    summary: "run the program under systemd with the same flags: install and start a unit, remove it, or print it",
    args: "install|uninstall|print",
    words: ["install", "uninstall", "print"],
  },
  {
    name: "doctor",
    summary:
      "find out why a node does not work: check cluster, access rights, node, certificate, network and back end, and print what repairs each",
  },
  { name: "plan", summary: "print what the provider would send to its back end for a pod or a workload, without sending it" },
  {
    name: "explain",
    summary: "explain an error code, a reason of an event or status, a condition, a refused field or an exit code",
    args: "[NAME]",
  },
  { name: "status", summary: "show what a running program does: its nodes, their pods, errors, retries and queues; live on a terminal" },
  {
    name: "completion",
    summary: "print the completion script for a shell",
    args: "bash|zsh|fish",
    words: ["bash", "zsh", "fish"],
  },
  {
    name: "version",
    summary: "print the versions of the program, Kubernetes and Node.js",
  },
  { name: "help", summary: "show the help of a command", args: "[COMMAND]" },
];

export const commandNames: readonly CommandName[] = commands.map(({ name }) => name);

export function findCommand(name: string): Command | undefined {
  return commands.find((command) => command.name === name);
}
