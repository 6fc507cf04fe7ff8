import type { ReasonCatalogue } from "@virtual-kubelet/core";

/** Reasons that the provider writes and core does not. */
export const reasons: ReasonCatalogue = {
  FloatingIP: { on: ["podEvent"], meaning: "The pod has the floating IP in the message.", remedy: "Nothing." },
  NetworkNotReady: {
    on: ["podEvent"],
    meaning: "The pod's ports or floating IP could not be set up. It is tried again.",
    remedy: "The message has OpenStack's answer: `openstack port list`, `openstack quota show`.",
  },
  PullSecretsUnused: {
    on: ["podEvent"],
    meaning: "The pod has imagePullSecrets, which Zun cannot use.",
    remedy: "Register the registry with Zun, and name it with the setting registry.",
  },
  VolumeWritable: {
    on: ["podEvent"],
    meaning: "Zun mounts Cinder volumes for writing, whatever readOnly says.",
    remedy: "Nothing, if the container does not write there. Otherwise use a copy of the volume.",
  },
  EndNotSeen: {
    on: ["podEvent"],
    meaning: "Zun does not tell when a container of a pod of several containers ends. The pod is said to run until it is deleted.",
    remedy: "Use a pod of one container for work that ends, such as a Job.",
  },
  EntryPointStays: {
    on: ["podEvent"],
    meaning: "In a pod of several containers, Zun runs command as arguments of the image's entry point.",
    remedy: "Use an image without an entry point, or a pod of one container.",
  },
  CapsuleMembersNotRefreshed: {
    on: ["podCondition"],
    meaning: "Zun does not look at a capsule's containers again once they run. One that has ended is still said to run.",
    remedy: "Use a pod of one container if its end has to be noticed.",
  },
  Rebuilding: {
    on: ["containerWaiting"],
    meaning: "Zun rebuilds the container.",
    remedy: "Nothing, unless it lasts. Then `openstack appcontainer show`.",
  },
  Dead: {
    on: ["containerTerminated"],
    meaning: "Zun could not remove the container cleanly.",
    remedy: "Look at the machine that ran it: `openstack appcontainer show` names it.",
  },
};
