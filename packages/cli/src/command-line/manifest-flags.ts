import type { Flag } from "./flag.ts";

/** Flags of `manifests`, which only `doctor` shares. */
export const manifestFlags: readonly Flag[] = [
  {
    name: "run-as",
    type: "string",
    value: "IDENTITY",
    choices: ["node", "service-account"],
    commands: ["manifests"],
    default: "node",
    help:
      "identity whose rights are printed: system:node:NAME, which the Node authorizer restricts to its own node and pods, or a service " +
      "account, which a Deployment always has",
  },
  {
    name: "namespaces",
    type: "string",
    value: "NS,NS",
    commands: ["manifests", "doctor"],
    default: "all",
    help: "restrict a service account to these namespaces for reading secrets, making tokens and changing pods",
  },
  {
    name: "image",
    type: "string",
    value: "IMAGE",
    commands: ["manifests"],
    help: "image of the program for manifests deployment, such as registry.example.com/virtual-kubelet:1.0",
  },
  {
    name: "replicas",
    type: "integer",
    value: "N",
    commands: ["manifests"],
    default: "1",
    help: "number of copies for manifests deployment; one runs the nodes, the others stand by",
  },
];
