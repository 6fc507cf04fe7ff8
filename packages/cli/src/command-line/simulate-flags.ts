import { defaults } from "../config/defaults.ts";
import type { CommandName, Flag } from "./flag.ts";

const commands: readonly CommandName[] = ["simulate"];

/** Flags of `simulate` alone. */
export const simulateFlags: readonly Flag[] = [
  { name: "nodes", type: "integer", value: "N", commands, default: String(defaults.simulatedNodes), help: "number of nodes" },
  {
    name: "name",
    type: "string",
    value: "PREFIX",
    commands,
    default: defaults.simulatedName,
    help: "beginning of the nodes' names, which end with numbers: PREFIX-0, PREFIX-1 and so on",
  },
  {
    name: "pods",
    type: "integer",
    value: "N",
    commands,
    default: String(defaults.simulatedPods),
    help: "number of pods that each node has room for",
  },
  {
    name: "embedded",
    type: "boolean",
    commands,
    default: "false",
    help: "start a Kubernetes API server in memory, and simulate the nodes there",
  },
  {
    name: "kubeconfig",
    type: "string",
    value: "FILE",
    commands,
    default: `as for run; ${defaults.simulateKubeconfig} with --embedded`,
    help: "kubeconfig of the cluster; with --embedded the file that a kubeconfig is written to",
  },
  {
    name: "port",
    type: "integer",
    value: "PORT",
    commands,
    default: "a free one",
    help: "port of the API server in memory on 127.0.0.1; only with --embedded",
  },
  {
    name: "kubelet-port",
    type: "integer",
    value: "PORT",
    commands,
    default: "a free one",
    help: "port that all nodes serve logs, exec and metrics on; 0 disables them",
  },
];
