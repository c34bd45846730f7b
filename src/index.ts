// The server package: rooms, and the way to them.
export { CloseCode } from "./protocol/close-code.js";
export { StateTooLargeError } from "./room/attachment.js";
export type { Access, Authorization } from "./room/authorization.js";
export type { RoomDocument } from "./document/lazy-document.js";
export type { UpdateLimits } from "./document/update-limits.js";
export type { PersistenceOptions } from "./room/persistence.js";
export type { RoomOptions } from "./room/room-core.js";
export type { CallbackOptions, RoomInstance, RoomStatic } from "./room/room-hooks.js";
export { Room, withRoom, type ServerClass, type WithRoom } from "./room/with-room.js";
export { getRoom, routeRooms, type GetRoomOptions, type RouteRoomsOptions } from "./router.js";
export { StorageError } from "./storage/database.js";
