import type { ReasonCatalogue } from "@virtual-kubelet/core";

/** Reasons that the provider writes and core does not. */
export const reasons: ReasonCatalogue = {
  DNSConfigForming: {
    on: ["podEvent"],
    meaning:
      "The pod's DNS configuration has more name servers or search domains than Azure Container Instances accepts; the rest is left out.",
    remedy: "Name fewer of them in dnsConfig, the important ones first.",
  },
  FileModeIgnored: {
    on: ["podEvent"],
    meaning: "A volume sets modes of files, which Azure Container Instances sets itself.",
    remedy: "Nothing, if the mode does not matter. A script can be run as an argument of its interpreter.",
  },
  HostnameIgnored: {
    on: ["podEvent"],
    meaning: "The pod has a host name or subdomain, and Azure chooses the host name itself.",
    remedy: "Nothing, if the program does not read its host name. `metadata.name` is available as a variable by a fieldRef.",
  },
  LimitLowered: {
    on: ["podEvent"],
    meaning: "A limit is above the sum of the pod's requests, which is the most that Azure accepts.",
    remedy: "Raise the requests of the pod's containers, or lower the limit.",
  },
  PublicAddress: {
    on: ["podEvent"],
    meaning: "The pod is in no subnet and declares ports, so that it has a public address with these ports open to the Internet.",
    remedy: "Nothing, if that is wanted. Otherwise set a subnet, or publicAddress: never, in the provider's configuration.",
  },
  PullSecretIgnored: {
    on: ["podEvent"],
    meaning: "A pull secret has a kind of credential that Azure Container Instances does not accept.",
    remedy: "Use a user name with a password, an identity token, or a managed identity by registryIdentities.",
  },
  ServiceAccountTokenExpires: {
    on: ["podEvent"],
    meaning: "A service account token of the pod is never renewed, because files of a running container group cannot be changed.",
    remedy: "Ask for a longer life with expirationSeconds of the projected volume, or let the pod end before the time in the message.",
  },
  SidecarStartsWithContainers: {
    on: ["podEvent"],
    meaning: "Azure Container Instances has no sidecars: they start together with the regular containers, after all init containers.",
    remedy: "Nothing, unless an init container needs the sidecar.",
  },
  Stopped: {
    on: ["podStatus"],
    meaning: "Somebody has stopped the container group in Azure.",
    remedy: "Delete the pod, whose controller then makes a new one. Azure's activity log tells who stopped it.",
  },
};
