// The build replaces this module by one that contains the library: what the library depends on, 8 MB, is for another runtime, Bare.
export { extract, pack, type Pack } from "tar-stream";
