import type { ReasonCatalogue } from "@virtual-kubelet/core";
import { podRuntimeReasons } from "@virtual-kubelet/pod-runtime";

/** Reasons that the provider writes and core does not. */
export const reasons: ReasonCatalogue = {
  ...podRuntimeReasons,
  NetworkNotReady: {
    on: ["podEvent"],
    meaning: "The network of a pod that an earlier program started is not as it was made.",
    remedy: "Delete the pod if it has no connection, so that it is created anew.",
  },
  NetworkFound: {
    on: ["nodeCondition"],
    meaning: "On the condition NetworkUnavailable: the engine has the pods' network, or network plugins connect the pods.",
    remedy: "Nothing.",
  },
  NetworkNotFound: {
    on: ["nodeCondition"],
    meaning: "On the condition NetworkUnavailable: the engine lacks the network that the setting network names. No pod can start.",
    remedy: "Create it: `docker network create NAME`. Or correct the setting network.",
  },
  NetworkUnknown: {
    on: ["nodeCondition"],
    meaning: "On the condition ServiceRouting: the pods' network could not be read from the engine.",
    remedy: "Read the condition's message, and check the engine: `docker network inspect NAME`.",
  },
  NotABridge: {
    on: ["nodeCondition"],
    meaning: "On the condition ServiceRouting: the pods' network has another driver than bridge, and is not checked.",
    remedy: "Nothing, if pods reach Services. Otherwise use a network with the driver bridge.",
  },
  KernelSettingsFit: {
    on: ["nodeCondition"],
    meaning: "On the condition ServiceRouting: the kernel's settings let pods reach each other through Services.",
    remedy: "Nothing.",
  },
  KernelSettingsUnreadable: {
    on: ["nodeCondition"],
    meaning: "On the condition ServiceRouting: the program cannot read the kernel's settings.",
    remedy: "Let the program read /proc/sys, or ignore the condition if Services work.",
  },
  ForwardingOff: {
    on: ["nodeCondition"],
    meaning: "On the condition ServiceRouting: the kernel forwards no packets, so that pods reach only pods of their own network.",
    remedy: "`sysctl -w net.ipv4.ip_forward=1`, and a file in /etc/sysctl.d that keeps it so.",
  },
  IPv6ForwardingOff: {
    on: ["nodeCondition"],
    meaning: "On the condition ServiceRouting: the kernel forwards no IPv6 packets.",
    remedy: "`sysctl -w net.ipv6.conf.all.forwarding=1`, and a file in /etc/sysctl.d that keeps it so.",
  },
  BridgeNetfilterMissing: {
    on: ["nodeCondition"],
    meaning:
      "On the condition ServiceRouting: the kernel module br_netfilter is not loaded, so that a pod does not reach a pod of the same node through a Service.",
    remedy: "`modprobe br_netfilter`, and a file in /etc/modules-load.d that keeps it so.",
  },
  BridgeNetfilterOff: {
    on: ["nodeCondition"],
    meaning:
      "On the condition ServiceRouting: packets between pods of one bridge bypass iptables, so that a pod does not reach a pod of the same node through a Service.",
    remedy: "`sysctl -w net.bridge.bridge-nf-call-iptables=1`, and a file in /etc/sysctl.d that keeps it so.",
  },
  IPv6BridgeNetfilterOff: {
    on: ["nodeCondition"],
    meaning: "On the condition ServiceRouting: IPv6 packets between pods of one bridge bypass ip6tables.",
    remedy: "`sysctl -w net.bridge.bridge-nf-call-ip6tables=1`, and a file in /etc/sysctl.d that keeps it so.",
  },
};
