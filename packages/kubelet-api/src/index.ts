/**
 * The HTTPS server of a node: what kube-apiserver, kubectl and metrics-server ask a kubelet for, and who may ask.
 *
 * @packageDocumentation
 */
export type {
  AccessAttributes,
  AccessControl,
  AccessDecision,
  CredentialSource,
  ServingCertificate,
  ServingTls,
  User,
} from "./access-control.ts";
