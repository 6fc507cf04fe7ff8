import { defaults } from "../config/defaults.ts";
import type { CommandName, Flag } from "./flag.ts";

const commands: readonly CommandName[] = ["join"];

/** Flags of `join`, with kubeadm's names where they exist. */
export const joinFlags: readonly Flag[] = [
  { name: "token", type: "string", value: "ID.SECRET", commands, help: "bootstrap token; kubeadm token create prints one" },
  {
    name: "token-file",
    type: "string",
    value: "FILE",
    commands,
    help: "file with the bootstrap token, which other users cannot see",
  },
  {
    name: "discovery-token-ca-cert-hash",
    type: "string",
    value: "sha256:HEX",
    commands,
    help: "hash of the public key of the cluster's authority; may be repeated, and one of them must match",
  },
  {
    name: "discovery-token-unsafe-skip-ca-verification",
    type: "boolean",
    commands,
    default: "false",
    help: "trust every authority that the token has signed; everybody who knows the token can then pretend to be the API server",
  },
  {
    name: "discovery-file",
    type: "string",
    value: "FILE",
    commands,
    help: "kubeconfig with the cluster, instead of HOST:PORT; without --token its user requests the certificate",
  },
  {
    name: "certificate-authority",
    type: "string",
    value: "FILE",
    commands,
    help: "the cluster's authority, PEM, instead of --discovery-token-ca-cert-hash",
  },
  {
    name: "kubeconfig",
    type: "string",
    value: "FILE",
    commands,
    default: "kubeconfig in --cert-dir",
    help: "kubeconfig that is written",
  },
  {
    name: "timeout",
    type: "string",
    value: "DURATION",
    commands,
    default: defaults.joinTimeout,
    help: "maximum time until the certificate is signed; a later call continues with the same request",
  },
  {
    name: "force",
    type: "boolean",
    commands,
    default: "false",
    help: "replace a valid certificate, other credentials in the folder, and another kubeconfig",
  },
];
