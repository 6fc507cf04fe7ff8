import { join } from "node:path";

/** A process of the control plane. */
export type ControlPlaneComponent = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler";

/** Flags of a process by name, without dashes. `undefined` removes a default of the launcher. */
export type ComponentFlags = Readonly<Record<string, string | undefined>>;

/** Where a control plane keeps its files; every path is absolute. */
export interface ControlPlaneFiles {
  readonly directory: string;
  readonly etcdData: string;
  /** Unix sockets of etcd, which cannot conflict with ports in use. */
  readonly etcdSocket: string;
  readonly etcdPeerSocket: string;
  readonly pki: string;
  readonly logs: string;
  readonly kubeconfigs: string;
  readonly auditPolicy: string;
  readonly auditLog: string;
}

/** Returns the paths of the files in a folder. */
export function controlPlaneFiles(directory: string): ControlPlaneFiles {
  return {
    directory,
    etcdData: join(directory, "etcd"),
    etcdSocket: join(directory, "etcd.sock"),
    etcdPeerSocket: join(directory, "peer.sock"),
    pki: join(directory, "pki"),
    logs: join(directory, "logs"),
    kubeconfigs: join(directory, "kubeconfigs"),
    auditPolicy: join(directory, "audit-policy.json"),
    auditLog: join(directory, "audit.log"),
  };
}

/** A single member without fsync, because its data lives as long as the test. */
export function etcdFlags(files: ControlPlaneFiles): ComponentFlags {
  // etcd requires host and port in the addresses that it advertises; a single member never dials them.
  const peer = "http://127.0.0.1:1";
  return {
    name: "test",
    "data-dir": files.etcdData,
    "listen-client-urls": `unix://${files.etcdSocket}`,
    "advertise-client-urls": "http://127.0.0.1:2",
    "listen-peer-urls": `unix://${files.etcdPeerSocket}`,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": `test=${peer}`,
    "unsafe-no-fsync": "true",
    "log-level": "warn",
  };
}

/** Settings that determine kube-apiserver's flags. */
export interface ApiServerSettings {
  readonly files: ControlPlaneFiles;
  readonly port: number;
  readonly audit: boolean;
  /** Whether pods are given a service account, which only kube-controller-manager creates. */
  readonly serviceAccounts: boolean;
}

/** kube-apiserver on 127.0.0.1, with the Node and RBAC authorizers on. */
export function apiServerFlags({ files, port, audit, serviceAccounts }: ApiServerSettings): ComponentFlags {
  const pki = (name: string): string => join(files.pki, name);
  return {
    "bind-address": "127.0.0.1",
    "secure-port": String(port),
    "etcd-servers": `unix://${files.etcdSocket}`,
    "authorization-mode": "Node,RBAC",
    "enable-admission-plugins": "NodeRestriction",
    "disable-admission-plugins": serviceAccounts ? undefined : "ServiceAccount",
    "allow-privileged": "true",
    "service-cluster-ip-range": "10.96.0.0/16",
    // As kubeadm sets it: nodes join with bootstrap tokens.
    "enable-bootstrap-token-auth": "true",
    // A loopback address may not be an endpoint of the service `kubernetes`.
    "endpoint-reconciler-type": "none",
    "cert-dir": files.pki,
    "tls-cert-file": pki("kube-apiserver.crt"),
    "tls-private-key-file": pki("kube-apiserver.key"),
    "client-ca-file": pki("ca.crt"),
    "kubelet-client-certificate": pki("kubelet-client.crt"),
    "kubelet-client-key": pki("kubelet-client.key"),
    "kubelet-preferred-address-types": "InternalIP,Hostname",
    "requestheader-client-ca-file": pki("front-proxy-ca.crt"),
    "requestheader-allowed-names": "front-proxy-client",
    "requestheader-username-headers": "X-Remote-User",
    "requestheader-group-headers": "X-Remote-Group",
    "requestheader-extra-headers-prefix": "X-Remote-Extra-",
    "proxy-client-cert-file": pki("front-proxy-client.crt"),
    "proxy-client-key-file": pki("front-proxy-client.key"),
    "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
    "service-account-key-file": pki("service-account.pub"),
    "service-account-signing-key-file": pki("service-account.key"),
    "audit-policy-file": audit ? files.auditPolicy : undefined,
    "audit-log-path": audit ? files.auditLog : undefined,
    // Tests read the log while it is written.
    "audit-log-mode": audit ? "blocking" : undefined,
  };
}

/** kube-controller-manager without leader election and without a port. */
export function controllerManagerFlags(files: ControlPlaneFiles): ComponentFlags {
  const pki = (name: string): string => join(files.pki, name);
  return {
    kubeconfig: join(files.kubeconfigs, "kube-controller-manager.json"),
    "secure-port": "0",
    "leader-elect": "false",
    controllers: "*,bootstrapsigner,tokencleaner",
    "use-service-account-credentials": "true",
    "root-ca-file": pki("ca.crt"),
    "service-account-private-key-file": pki("service-account.key"),
    "cluster-signing-cert-file": pki("ca.crt"),
    "cluster-signing-key-file": pki("ca.key"),
    "kube-api-qps": "200",
    "kube-api-burst": "400",
  };
}

/** kube-scheduler without leader election and without a port. */
export function schedulerFlags(files: ControlPlaneFiles): ComponentFlags {
  return {
    kubeconfig: join(files.kubeconfigs, "kube-scheduler.json"),
    "secure-port": "0",
    "leader-elect": "false",
    "kube-api-qps": "200",
    "kube-api-burst": "400",
  };
}

/** Command line for the flags; later sets override earlier ones. */
export function commandLine(...flagSets: readonly ComponentFlags[]): string[] {
  const flags: Record<string, string | undefined> = Object.assign({}, ...flagSets);
  return Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));
}
