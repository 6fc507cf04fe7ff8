/**
 * The HTTPS server of a node: it answers kube-apiserver, kubectl and metrics-server like a kubelet, and controls who may call.
 *
 * @packageDocumentation
 */
export type { AccessAttributes, AccessControl, AccessDecision, CredentialSource, User } from "./access-control/access-control.ts";
export { ClientCaConfigMap, type ClientCaConfigMapOptions } from "./authentication/client-ca-config-map.ts";
export { openClientCaFile, type ClientCaFileOptions } from "./authentication/client-ca-file.ts";
export { noClientCa, type ClientCa } from "./authentication/client-ca.ts";
export { bootstrapClientCertificate, type BootstrapOptions } from "./certificates/bootstrap-client-certificate.ts";
export { openCertificateFiles, type CertificateFilesOptions } from "./certificates/certificate-files.ts";
export { openCertificateManager, type CertificateManager, type CertificateManagerOptions } from "./certificates/certificate-manager.ts";
export {
  noCertificateStore,
  openCertificateDirectory,
  type CertificateStore,
  type PendingRequest,
  type StoredCertificates,
} from "./certificates/certificate-store.ts";
export {
  openClientCertificateManager,
  type ClientCertificateManager,
  type ClientCertificateManagerOptions,
} from "./certificates/client-certificate-manager.ts";
export { clientCertificatePath, openClientCertificateStore } from "./certificates/client-certificate-store.ts";
export { certificateUser } from "./certificates/client-certificate.ts";
export { writePrivateFile } from "./certificates/private-file.ts";
export type { SigningRequestOptions, SubmittedRequest } from "./certificates/signing-request.ts";
export { certificateOf, type KeyPairSource } from "./certificates/key-pair.ts";
export { missingNames, servingNamesOf, type ServingNames } from "./certificates/serving-names.ts";
export { kubeletServingSigner } from "./certificates/signing-request.ts";
export { createAccessControl, type AccessControlOptions } from "./access-control/create-access-control.ts";
export { createServingCertificate, type ServingCertificate, type ServingTls } from "./certificates/serving-certificate.ts";
export type { HealthCheck } from "./routes/health.ts";
export type { ServedNode } from "./routes/served-node.ts";
export { startKubeletServer, type KubeletServer, type KubeletServerOptions } from "./server/kubelet-server.ts";
export { serveNode, type ServeNodeOptions } from "./server/serve-node.ts";
export { parseQuery, type Query } from "./server/query.ts";
export { Refusal, type AnswerHeaders } from "./server/refusal.ts";
export { parseRequestTarget, type RequestTarget } from "./server/request-target.ts";
export type { ServerLimits } from "./server/server-limits.ts";
export { knownCipherSuites, type TlsSettings } from "./server/tls-options.ts";
export type { AuditOptions } from "./streams/audit.ts";
