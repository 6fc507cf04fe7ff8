// The build replaces this module by one that contains the library: a node reads a kubeconfig whenever it starts, and the library is 72 modules.
export { parse } from "yaml";
