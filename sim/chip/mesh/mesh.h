/*
 * SPDX-License-Identifier: MIT
 *
 * The network: a mesh of tiles with dimension-order routing (first along the row, then along the
 * column), as Table I of the FLASK paper has it.
 *
 * A message takes each link on its way from the moment its first flit can have it for as many
 * cycles as it has flits; the first flit goes through a router and a link in a fixed time. So two
 * messages that need a link wait for each other, and two messages between the same agents never
 * overtake each other: the protocols count on that. Buffers are unlimited: a message that waits
 * blocks only the links that it has already reserved. A multicast is a tree of such paths, and
 * takes a link once.
 */
#ifndef CHIP_MESH_H
#define CHIP_MESH_H

#include <stdbool.h>
#include <stdint.h>

enum mesh_port { MESH_EAST, MESH_WEST, MESH_SOUTH, MESH_NORTH, MESH_EJECT, MESH_PORTS };

struct mesh_link {
    uint64_t free;      /* from then on */
    uint64_t multicast; /* the last multicast that took it, */
    uint64_t head;      /* and when its first flit was through */
};

struct mesh {
    uint32_t width, height, hop; /* hop: cycles of a router and a link */
    uint32_t router;
    uint32_t agents;
    uint64_t multicasts;
    struct mesh_link *links; /* MESH_PORTS a tile */
    uint64_t *inject;        /* an agent: when its port is free */
    uint16_t *tile;          /* an agent's */
};

/* False: out of memory. The caller sets tile[] of each agent. */
bool mesh_init(struct mesh *mesh, uint32_t width, uint32_t height, uint32_t router, uint32_t link,
               uint32_t agents);
void mesh_destroy(struct mesh *mesh);

/* When the last flit has arrived. Adds the links that were taken to *hops. */
uint64_t mesh_send(struct mesh *mesh, unsigned from, unsigned to, unsigned flits, uint64_t time,
                   uint64_t *hops);

/* The same for one of the receivers of a multicast; all of them follow a mesh_multicast. */
uint64_t mesh_multicast(struct mesh *mesh, unsigned from, unsigned flits, uint64_t time);
uint64_t mesh_branch(struct mesh *mesh, unsigned from, unsigned to, unsigned flits, uint64_t time,
                     uint64_t *hops);

#endif
