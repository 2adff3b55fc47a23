"""torch-geometric: convolutions of graphs, loaders, pooling and transforms."""

import torch
import torch_geometric as pyg
from torch_geometric import nn as gnn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader


def _graph():
    edges = torch.randint(0, 12, (2, 40), generator=torch.Generator().manual_seed(0))
    return Data(x=torch.randn(12, 5), edge_index=edges, y=torch.randint(0, 3, (12,)))


def _train(make):
    data = _graph()
    first, second = make(5, 8), make(8, 3)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        out = second(first(data.x, data.edge_index).relu(), data.edge_index)
        loss = torch.nn.functional.cross_entropy(out, data.y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, out


def gcn():
    return _train(gnn.GCNConv)


def gat():
    return _train(gnn.GATConv)


def gat_v2():
    return _train(gnn.GATv2Conv)


def sage():
    return _train(gnn.SAGEConv)


def gin():
    return _train(
        lambda i, o: gnn.GINConv(torch.nn.Sequential(torch.nn.Linear(i, o), torch.nn.ReLU(), torch.nn.Linear(o, o)))
    )


def cheb():
    return _train(lambda i, o: gnn.ChebConv(i, o, K=2))


def transformer():
    return _train(gnn.TransformerConv)


def graph_classification():
    graphs = [
        Data(x=torch.randn(n, 5), edge_index=torch.randint(0, n, (2, 2 * n)), y=torch.tensor([n % 2]))
        for n in range(4, 14)
    ]
    model, head = gnn.GCNConv(5, 8), torch.nn.Linear(8, 2)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    losses = []
    for batch in DataLoader(graphs, batch_size=4, shuffle=True):
        out = head(gnn.global_mean_pool(model(batch.x, batch.edge_index).relu(), batch.batch))
        loss = torch.nn.functional.cross_entropy(out, batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def pooling():
    data = _graph()
    batch = torch.tensor([0] * 6 + [1] * 6)
    x, edges, _, _, perm, _ = gnn.TopKPooling(5, ratio=0.5)(data.x, data.edge_index, None, batch)
    return (
        x,
        edges,
        perm,
        gnn.global_max_pool(data.x, batch),
        gnn.global_add_pool(data.x, batch),
        gnn.aggr.SortAggregation(3)(data.x, batch),
    )


def utilities():
    data = _graph()
    u = pyg.utils
    loops = u.add_self_loops(data.edge_index)[0]
    return (
        loops,
        u.degree(data.edge_index[0], 12),
        u.to_dense_adj(data.edge_index),
        u.coalesce(data.edge_index),
        u.to_undirected(data.edge_index),
        u.softmax(torch.randn(40), data.edge_index[0]),
        u.scatter(torch.randn(40, 2), data.edge_index[0], reduce="max"),
        u.k_hop_subgraph(0, 2, data.edge_index)[0],
        u.get_laplacian(data.edge_index, normalization="sym")[1],
    )


def sparse_adjacency():
    data = _graph()
    made = pyg.transforms.ToSparseTensor(layout=torch.sparse_csr)(data)
    layer = gnn.GCNConv(5, 4)
    return layer(data.x, made.adj_t), made.adj_t


def models():
    data = _graph()
    return [model(5, 8, 2, 3)(data.x, data.edge_index) for model in (gnn.GCN, gnn.GraphSAGE, gnn.GAT, gnn.GIN)]


def autoencoder():
    data = _graph()
    model = gnn.GAE(gnn.GCNConv(5, 4))
    z = model.encode(data.x, data.edge_index)
    loss = model.recon_loss(z, data.edge_index)
    loss.backward()
    return z, loss, model.encoder.lin.weight.grad


def transforms():
    data = _graph()
    data.pos = torch.randn(12, 3)
    chain = pyg.transforms.Compose(
        [
            pyg.transforms.NormalizeFeatures(),
            pyg.transforms.AddSelfLoops(),
            pyg.transforms.Cartesian(),
            pyg.transforms.RandomNodeSplit(num_val=2, num_test=2),
        ]
    )
    found = chain(data)
    return found.x, found.edge_attr, found.train_mask, str(found)


def save_and_load():
    data = _graph()
    torch.save(data, "graph.pt")
    again = torch.load("graph.pt", weights_only=False)
    return again.x, again.edge_index, str(again)
