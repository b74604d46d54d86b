/*
 * SPDX-License-Identifier: MIT
 *
 * The network; see mesh.h.
 */
#include "chip/mesh/mesh.h"

#include <stdlib.h>

bool mesh_init(struct mesh *mesh, uint32_t width, uint32_t height, uint32_t router, uint32_t link,
               uint32_t agents)
{
    *mesh = (struct mesh){
        .width = width, .height = height, .hop = router + link, .router = router, .agents = agents};
    mesh->links = calloc((size_t)width * height * MESH_PORTS, sizeof *mesh->links);
    mesh->inject = calloc(agents, sizeof *mesh->inject);
    mesh->tile = calloc(agents, sizeof *mesh->tile);
    return mesh->links != NULL && mesh->inject != NULL && mesh->tile != NULL;
}

void mesh_destroy(struct mesh *mesh)
{
    free(mesh->links);
    free(mesh->inject);
    free(mesh->tile);
}

static uint64_t inject(struct mesh *mesh, unsigned from, unsigned flits, uint64_t time)
{
    if (mesh->inject[from] > time)
        time = mesh->inject[from];
    mesh->inject[from] = time + flits;
    return time;
}

/* When the first flit is through the link. `multicast` 0: a message of its own. */
static uint64_t take(struct mesh *mesh, unsigned tile, enum mesh_port port, unsigned flits,
                     uint64_t time, uint64_t multicast, uint64_t *hops)
{
    struct mesh_link *link = &mesh->links[tile * MESH_PORTS + port];

    if (multicast != 0 && link->multicast == multicast)
        return link->head;
    if (link->free > time)
        time = link->free;
    link->free = time + flits;
    link->multicast = multicast;
    link->head = time + (port == MESH_EJECT ? mesh->router : mesh->hop);
    *hops += port != MESH_EJECT;
    return link->head;
}

static uint64_t route(struct mesh *mesh, unsigned from, unsigned to, unsigned flits, uint64_t time,
                      uint64_t multicast, uint64_t *hops)
{
    unsigned tile = mesh->tile[from], end = mesh->tile[to];
    unsigned x = tile % mesh->width, end_x = end % mesh->width;

    for (; x < end_x; x++, tile++)
        time = take(mesh, tile, MESH_EAST, flits, time, multicast, hops);
    for (; x > end_x; x--, tile--)
        time = take(mesh, tile, MESH_WEST, flits, time, multicast, hops);
    for (; tile < end; tile += mesh->width)
        time = take(mesh, tile, MESH_SOUTH, flits, time, multicast, hops);
    for (; tile > end; tile -= mesh->width)
        time = take(mesh, tile, MESH_NORTH, flits, time, multicast, hops);
    return take(mesh, tile, MESH_EJECT, flits, time, multicast, hops) + flits - 1;
}

uint64_t mesh_send(struct mesh *mesh, unsigned from, unsigned to, unsigned flits, uint64_t time,
                   uint64_t *hops)
{
    return route(mesh, from, to, flits, inject(mesh, from, flits, time), 0, hops);
}

uint64_t mesh_multicast(struct mesh *mesh, unsigned from, unsigned flits, uint64_t time)
{
    mesh->multicasts++;
    return inject(mesh, from, flits, time);
}

uint64_t mesh_branch(struct mesh *mesh, unsigned from, unsigned to, unsigned flits, uint64_t time,
                     uint64_t *hops)
{
    return route(mesh, from, to, flits, time, mesh->multicasts, hops);
}
